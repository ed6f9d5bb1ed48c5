// Command published measures neardup on two collections for which other programs have published figures, and prints our rows beside
// theirs. The collections are not part of the repository; download them yourself:
//
//	go run -C lab ./cmd/published -core FILE -news FILE
//
// CORE (Gyawali, Anastasiou and Knoth 2020) has 100,000 titles and abstracts of papers, each with the list of its duplicates; see
// https://core.ac.uk/documentation/dataset, or pinecone/core-2020-05-10-deduplication on Hugging Face. NEWS-COPY (Silcock et al. 2023) has
// articles of old newspapers, read by machines, with clusters of copies: chenghao/NEWS-COPY-eval on Hugging Face, of which the split
// test has 14,211. Files are JSON lines (.jsonl, .json, also .gz) or Parquet (.parquet).
//
//	main.go    the collections, and the tables
//	rows.go    rows of JSON and Parquet
//	score.go   the measures with which the figures were published
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup"
	"github.com/neardup/neardup/lab/must"
)

func main() {
	core := flag.String("core", "", "`FILE` of CORE")
	news := flag.String("news", "", "`FILE` of NEWS-COPY")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "published: %q is no flag\n", flag.Arg(0))
		os.Exit(2)
	}
	if err := run(*core, *news, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "published:", err)
		os.Exit(1)
	}
}

func run(core, news string, out io.Writer) error {
	if core == "" && news == "" {
		return fmt.Errorf("give -core or -news: which file is to be read")
	}
	if core != "" {
		if err := runCore(core, out); err != nil {
			return err
		}
	}
	if news != "" {
		return runNews(news, out)
	}
	return nil
}

// A paper is a row of CORE.
type paper struct {
	id, title, abstract string
	same                []string
}

// An article is a row of NEWS-COPY.
type article struct {
	text    string
	cluster string
}

// readPapers reads CORE. An id that two papers have is an error, and a paper that names itself is none of its duplicates.
func readPapers(path string) (papers []paper, err error) {
	known := map[string]bool{}
	err = read(path, func(r row) {
		p := paper{id: r.text("core_id"), title: r.text("processed_title"), abstract: r.text("processed_abstract")}
		for _, id := range r.texts("labelled_duplicates") {
			if id != p.id {
				p.same = append(p.same, id)
			}
		}
		if known[p.id] {
			r.fail("the core_id %s is that of another row too", p.id)
		}
		known[p.id] = true
		papers = append(papers, p)
	})
	return papers, err
}

// readArticles reads NEWS-COPY.
func readArticles(path string) (articles []article, err error) {
	err = read(path, func(r row) { articles = append(articles, article{r.text("article"), r.text("cluster")}) })
	return articles, err
}

// A method finds pairs of texts, with nothing chosen for a collection.
type method struct {
	name string
	find func(texts []string) ([]neardup.Pair[int], error)
}

var methods = []method{
	{"package dedup", func(texts []string) ([]neardup.Pair[int], error) {
		d, err := dedup.New[int](dedup.Options{})
		if err == nil {
			err = d.AddAll(context.Background(), func(yield func(int, neardup.Document) bool) {
				for i, text := range texts {
					if !yield(i, neardup.Text(text)) {
						return
					}
				}
			})
		}
		if err != nil {
			return nil, err
		}
		return must.Collect(d.Pairs(context.Background())), nil
	}},
	{"MinHash, 3 words, 0.7", func(texts []string) ([]neardup.Pair[int], error) {
		ix, err := neardup.NewSignatureIndex[int](0.7, neardup.SignatureIndexOptions{})
		if err != nil {
			return nil, err
		}
		f := neardup.Fingerprinter{Tokenizer: neardup.Shingles{N: 3}}
		err = ix.AddAll(context.Background(), func(yield func(int, neardup.Signature) bool) {
			for i, text := range texts {
				if !yield(i, f.Sign(neardup.Text(text), neardup.MinHash{})) {
					return
				}
			}
		})
		if err != nil {
			return nil, err
		}
		return must.Collect(ix.Pairs(context.Background())), nil
	}},
	{"SimHash, 64 bits, distance 3", func(texts []string) ([]neardup.Pair[int], error) {
		fps := make([]neardup.Fingerprint64, len(texts))
		for i, text := range texts {
			fps[i] = neardup.Sum64(text)
		}
		return must.Collect(neardup.Pairs(context.Background(), fps, 3)), nil
	}},
}

// runCore prints what is found among the papers. What the duplicates of a paper are is given by it, and is taken as it is.
func runCore(path string, out io.Writer) error {
	papers, err := readPapers(path)
	if err != nil {
		return err
	}
	number := map[string]int{}
	texts := make([]string, len(papers))
	for i, p := range papers {
		number[p.id] = i
		texts[i] = p.title + " " + p.abstract
	}
	truth := make([][]int, len(papers))
	unknown := 0
	for i, p := range papers {
		for _, id := range p.same {
			n, ok := number[id]
			if !ok {
				n = -1 - unknown // a paper that is not in the file, which nothing can find
				unknown++
			}
			truth[i] = append(truth[i], n)
		}
	}
	fmt.Fprintf(out, "CORE: %d papers\n\n| | duplicates: P, R | others: P, R | macro F1 | accuracy | time |\n|---|---|---|---|---|---|\n", len(papers))
	if unknown > 0 {
		fmt.Fprintf(os.Stderr, "%d labels name papers that are not in the file; they count as missed\n", unknown)
	}
	for _, m := range methods {
		start := time.Now()
		pairs, err := m.find(texts)
		if err != nil {
			return err
		}
		took := time.Since(start)
		s := scoreOf(truth, neighbours(len(papers), pairs))
		fmt.Fprintf(out, "| %s | %.3f %.3f | %.3f %.3f | **%.3f** | %.3f | %.1f s |\n", m.name, s.precision(), s.recall(), s.other().precision(), s.other().recall(), s.macroF1(), s.accuracy(), took.Seconds())
	}
	fmt.Fprint(out, "| text-dedup, MinHash, published | | | 0.952 | | |\n| text-dedup, SimHash, published | | | 0.852 | | |\n\n")
	return nil
}

// neighbours returns the documents that are paired with each, in ascending order.
func neighbours(n int, pairs []neardup.Pair[int]) [][]int {
	of := make([][]int, n)
	for _, p := range pairs {
		of[p.A], of[p.B] = append(of[p.A], p.B), append(of[p.B], p.A)
	}
	for _, near := range of {
		slices.Sort(near)
	}
	return of
}

// runNews prints what is found among the articles. Chains of pairs are clusters, as in what was published.
func runNews(path string, out io.Writer) error {
	articles, err := readArticles(path)
	if err != nil {
		return err
	}
	texts, truth, clusters := make([]string, len(articles)), make([]int, len(articles)), map[string]int{}
	for i, a := range articles {
		if _, ok := clusters[a.cluster]; !ok {
			clusters[a.cluster] = i
		}
		texts[i], truth[i] = a.text, clusters[a.cluster]
	}
	fmt.Fprintf(out, "NEWS-COPY: %d articles\n\n| | adjusted Rand index | time |\n|---|---|---|\n", len(articles))
	for _, m := range methods {
		start := time.Now()
		pairs, err := m.find(texts)
		if err != nil {
			return err
		}
		clusters, err := neardup.GroupPairs(len(texts), func(yield func(neardup.Pair[int], error) bool) {
			for _, p := range pairs {
				if !yield(p, nil) {
					return
				}
			}
		}, neardup.SingleLinkage, nil)
		if err != nil {
			return err
		}
		took := time.Since(start)
		fmt.Fprintf(out, "| %s | **%.3f** | %.1f s |\n", m.name, adjustedRand(truth, clusters), took.Seconds())
	}
	fmt.Fprint(out, "| text-dedup, MinHash, published | 0.729 | |\n| text-dedup, SimHash, published | 0.646 | |\n| a neural re-ranker (Silcock et al. 2023), published | 0.937 | |\n")
	return nil
}
