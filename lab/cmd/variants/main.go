// Command variants makes a collection with near-duplicates out of your texts, and a file that says
// which documents belong together. So you can try settings on your own texts:
//
//	go run -C lab ./cmd/variants -in "$PWD/docs.jsonl" -out "$PWD/edited" \
//		[-per 2] [-edits delete-words:0.05,add-boilerplate:0.2]
//
// A line of the input is a JSON object with an id, a text, and optionally a title, which becomes
// the first line of the text. The file may be compressed by gzip if its name ends in .gz. A
// document that shares much text with an earlier one is left out, because the two are already
// near-duplicates.
//
// The output edited/docs.jsonl has the documents and their variants. A variant has the id of its
// original (of) and its edit. The output edited/truth.tsv has lines with an id and the number of
// its cluster. The same input and settings give the same output. (With go run -C, relative paths
// start at the folder lab.)
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/lab/dataset"
	"github.com/neardup/neardup/lab/variant"
)

// usual has every kind of edit, about as strong as in near-duplicates of web pages.
const usual = "delete-words:0.05,insert-words:0.05,substitute-words:0.05,swap-words:0.05," +
	"delete-characters:0.02,insert-characters:0.02,substitute-characters:0.02,swap-characters:0.02," +
	"delete-sentences:0.1,reorder-sentences:0.2,add-boilerplate:0.2,add-advertisements:0.1," +
	"change-title:1,change-names:0.5,change-numbers:0.5,change-dates:1,full-width:1"

func main() {
	in := flag.String("in", "", "`FILE` with JSON lines; required")
	out := flag.String("out", "", "`DIR` for docs.jsonl and truth.tsv; required")
	edits := flag.String("edits", usual, "comma-separated edits; the variants use them in turn")
	per := flag.Int("per", 1, "number of variants of each document")
	seed := flag.Uint64("seed", 1, "seed of the random numbers; another seed makes other variants")
	flag.Parse()
	report, err := run(*in, *out, *edits, *per, *seed)
	if err != nil {
		fmt.Fprintln(os.Stderr, "variants:", err)
		os.Exit(1)
	}
	fmt.Println(report)
}

// A line is a line of docs.jsonl.
type line struct {
	ID   string `json:"id"`
	Text string `json:"text"`
	Of   string `json:"of,omitempty"`
	Edit string `json:"edit,omitempty"`
}

// parseEdits reads the flag -edits.
func parseEdits(edits string) (ways []variant.Edit, err error) {
	for s := range strings.SplitSeq(edits, ",") {
		e, err := variant.ParseEdit(strings.TrimSpace(s))
		if err != nil {
			return nil, err
		}
		ways = append(ways, e)
	}
	return ways, nil
}

// read reads documents and checks them. seen has their ids.
func read(in string) (docs []dataset.Document, seen map[string]bool, err error) {
	if docs, err = dataset.Read(in); err != nil {
		return nil, nil, err
	}
	seen = map[string]bool{}
	for i, d := range docs {
		if d.ID == "" || seen[d.ID] || strings.ContainsAny(d.ID, "\t\r\n") || strings.TrimSpace(d.ID) != d.ID {
			return nil, nil, fmt.Errorf("%s: document %d: the id %q is empty, is used twice, or has a tab, a line end or spaces around it", in, i+1, d.ID)
		}
		if d.Whole() == "" {
			return nil, nil, fmt.Errorf("%s: document %d with the id %q has no text", in, i+1, d.ID)
		}
		seen[d.ID] = true
	}
	return docs, seen, nil
}

// texts yields the ids and texts of documents.
func texts(docs []dataset.Document) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, d := range docs {
			if !yield(d.ID, d.Whole()) {
				return
			}
		}
	}
}

// run does the work of the command. It returns what to tell the user. It writes nothing if the
// input has an error.
func run(in, out, edits string, per int, seed uint64) (report string, err error) {
	if in == "" || out == "" {
		return "", errors.New("-in and -out are required")
	}
	if per < 0 {
		return "", fmt.Errorf("-per %d must not be negative", per)
	}
	ways, err := parseEdits(edits)
	if err != nil {
		return "", err
	}
	docs, seen, err := read(in)
	if err != nil {
		return "", err
	}
	all := len(docs)
	docs = dataset.Distinct(docs)
	words, err := neardup.NewSegmenter(neardup.SegmenterOptions{})
	if err != nil {
		return "", err
	}
	g := variant.Generator{Words: words, Seed: seed, Vocabulary: variant.SampleVocabulary(words, func(yield func(string) bool) {
		texts(docs)(func(_, text string) bool { return yield(text) })
	})}
	var page, truth strings.Builder
	variants := 0
	enc := json.NewEncoder(&page)
	enc.SetEscapeHTML(false)
	collection := g.Collection(texts(docs), ways, per)
	for i, d := range collection {
		l := line{ID: d.ID, Text: d.Text, Of: d.Of}
		if d.Of != "" {
			if l.Edit = d.By.String(); seen[d.ID] {
				return "", fmt.Errorf("%s: a document has the id %q, which a variant would get", in, d.ID)
			}
			variants++
		}
		if err := enc.Encode(l); err != nil {
			return "", err
		}
		if d.Of != "" || i+1 < len(collection) && collection[i+1].Of == d.ID {
			fmt.Fprintf(&truth, "%s\t%d\n", d.ID, d.Cluster)
		}
	}
	if err := errors.Join(os.MkdirAll(out, 0o755), write(filepath.Join(out, "docs.jsonl"), page.String()), write(filepath.Join(out, "truth.tsv"), truth.String())); err != nil {
		return "", err
	}
	return summary(len(docs), variants, all-len(docs), per*len(docs)-variants, out), nil
}

// summary says how many documents and variants were written, left out and missing.
func summary(documents, variants, leftOut, missing int, out string) string {
	s := fmt.Sprintf("%d documents and %d variants are in %s", documents, variants, out)
	if leftOut > 0 {
		s += fmt.Sprintf("; %d documents were left out because they share much text with another", leftOut)
	}
	if missing > 0 {
		s += fmt.Sprintf("; %d variants are missing because there was nothing new to edit", missing)
	}
	return s
}

// write writes a file completely or not at all.
func write(path, content string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".variants-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(content)
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
