package main

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/lab/dataset"
	"github.com/neardup/neardup/lab/variant"
	"github.com/neardup/neardup/wordlist"
)

// This file reads the texts that the experiments use: collections in a directory, or the texts of
// the repository.

// data has the texts that the experiments use.
type data struct {
	words, terms *neardup.Segmenter // terms leaves out stop words, but keeps markers

	topics   []string    // sorted by name
	articles []*document // of the topics; no two share much text
	source   string      // where the articles are from
	removed  int         // number of articles left out because they share much text with another
	raw      []*document // all articles, including the removed ones
	revised  []*document // texts that people revised; their groups are known
	revision string      // where the revised texts are from
	short    []shortPair // pairs of short texts
	shorts   string      // where the short texts are from
	editor   variant.Generator

	keywords []string // that authors gave to papers, each as often as it was given
}

// A document is a text of a pool.
type document struct {
	text  string
	topic string
	of    int         // its group; documents of a group are near-duplicates
	meta  neardup.Set // keywords and tags
}

// A shortPair is two short texts with a label: 1 if they are alike, 0 if not.
type shortPair struct {
	A, B  string
	Label int
}

// The directories with the texts of the repository, seen from the directory experiments.
const (
	shipped = "../testdata"
	own     = "cmd/reproduce/testdata"
)

//go:embed testdata/keywords.tsv
var keywords string

// readData reads the collections in dir, or the texts of the repository if dir is empty.
func readData(dir string, small bool) (*data, error) {
	for _, name := range []string{"zh-topics/docs.jsonl.gz", "zh-revisions/docs.jsonl.gz", "zh-revisions/truth.tsv", "zh-short-pairs/pairs.jsonl.gz"} {
		if dir == "" {
			break
		}
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil { // check this before work that takes long
			return nil, err
		}
	}
	d := &data{}
	markers := append(wordlist.ChineseMarkers(), wordlist.EnglishMarkers()...)
	stop := slices.DeleteFunc(append(wordlist.ChineseStopWords(), wordlist.EnglishStopWords()...), func(w string) bool { return slices.Contains(markers, w) })
	var err error
	if d.words, err = neardup.NewSegmenter(neardup.SegmenterOptions{}); err != nil {
		return nil, err
	}
	if d.terms, err = neardup.NewSegmenter(neardup.SegmenterOptions{StopWords: neardup.NewLexicon(stop...)}); err != nil {
		return nil, err
	}
	if dir == "" {
		err = d.readShipped()
	} else {
		err = d.readSets(dir)
	}
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(keywords) {
		keyword, count, _ := strings.Cut(strings.TrimSpace(line), "\t")
		n, err := strconv.Atoi(count)
		if err != nil {
			return nil, fmt.Errorf("keywords.tsv: %w", err)
		}
		d.keywords = append(d.keywords, slices.Repeat([]string{keyword}, n)...)
	}
	if small {
		n := -1
		d.articles = slices.DeleteFunc(d.articles, func(*document) bool { n++; return n%3 > 0 })
		d.revised = d.revised[:len(d.revised)/4]
		d.short = d.short[:len(d.short)/4]
	}
	return d, nil
}

// readSets reads the collections of NEARDUP_DATA.
func (d *data) readSets(dir string) error {
	articles, err := dataset.Read(filepath.Join(dir, "zh-topics", "docs.jsonl.gz"))
	if err != nil {
		return err
	}
	d.setArticles(articles, "`zh-topics`, Chinese articles of a news site")
	revised, err := dataset.Read(filepath.Join(dir, "zh-revisions", "docs.jsonl.gz"))
	if err != nil {
		return err
	}
	truth, err := dataset.ReadTruth(filepath.Join(dir, "zh-revisions", "truth.tsv"), revised)
	if err != nil {
		return err
	}
	d.setRevised(revised, truth, "`zh-revisions`, translations from English as drafted and as published")
	d.shorts = "`zh-short-pairs`, Chinese questions, labelled 1 if they mean the same"
	d.short, err = dataset.ReadAs[shortPair](filepath.Join(dir, "zh-short-pairs", "pairs.jsonl.gz"))
	return err
}

// readShipped uses the texts of the repository instead of collections. The articles are parts of
// Chinese statutes and manuals, and of English reference pages. Versions of texts are the revisions.
// Sentences with light edits are the short pairs.
func (d *data) readShipped() error {
	articles, err := dataset.Read(filepath.Join(own, "zh.jsonl.gz"))
	var versions []dataset.Document
	for _, name := range []string{"zh", "en", "more"} {
		docs, err2 := dataset.Read(filepath.Join(shipped, name+".jsonl"))
		if err = cmp.Or(err, err2); err != nil {
			break
		}
		for _, doc := range docs {
			if isChinese(doc.Text) {
				continue
			}
			for i, section := range sections(doc.Text) {
				articles = append(articles, dataset.Document{ID: fmt.Sprint(doc.ID, "#", i), Topic: "PowerShell", Text: section})
			}
		}
		if name != "more" {
			versions = append(versions, docs...)
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the texts of the repository are not here; run go run -C lab ./cmd/reproduce, or set -data: %w", err)
	} else if err != nil {
		return err
	}
	d.setArticles(articles, "parts of the texts in the repository: Chinese statutes, judicial interpretations and manuals, and English reference pages")
	truth := dataset.Truth{}
	for _, name := range []string{"zh", "en"} {
		t, err := dataset.ReadTruth(filepath.Join(shipped, name+".truth.tsv"), versions)
		if err != nil {
			return err
		}
		for p := range t {
			truth[p] = true
		}
	}
	d.setRevised(versions, truth, "the texts in the repository, statutes and reference pages in several versions")
	d.shorts = "sentences of the texts in the repository: labelled 1 with a character or two edited, 0 with another sentence"
	d.short = shortPairs(d.articles)
	return nil
}

// chineseTopics returns the topics whose first article is Chinese, or all if there is none.
func (d *data) chineseTopics() (topics []string) {
	for _, t := range d.topics {
		if i := slices.IndexFunc(d.articles, func(a *document) bool { return a.topic == t }); isChinese(d.articles[i].text) {
			topics = append(topics, t)
		}
	}
	if len(topics) == 0 {
		return d.topics
	}
	return topics
}

// isChinese reports whether at least a tenth of the characters of a text is Chinese.
func isChinese(text string) bool {
	han, all := 0, 0
	for _, c := range text {
		if all++; c >= 0x4E00 && c <= 0x9FFF {
			han++
		}
	}
	return 10*han > all
}

// sections cuts a text into runs of lines with 300 to 1,200 characters. It drops what does not fit.
func sections(text string) (all []string) {
	var b strings.Builder
	n := 0
	for line := range strings.Lines(text) {
		b.WriteString(line)
		if n += len([]rune(line)); n >= 300 {
			if n <= 1200 {
				all = append(all, b.String())
			}
			b.Reset()
			n = 0
		}
	}
	return all
}

// setArticles sets the articles and topics, and an editor that knows their vocabulary.
func (d *data) setArticles(articles []dataset.Document, source string) {
	d.source = source
	// Sort by topic, and keep the order within a topic.
	slices.SortStableFunc(articles, func(a, b dataset.Document) int { return cmp.Compare(a.Topic, b.Topic) })
	distinct := dataset.Distinct(articles)
	d.removed = len(articles) - len(distinct)
	d.articles, d.raw = asArticles(distinct), asArticles(articles)
	for _, a := range d.articles {
		if !slices.Contains(d.topics, a.topic) {
			d.topics = append(d.topics, a.topic)
		}
	}
	d.editor = variant.Generator{Words: d.words, Seed: 2026, Vocabulary: variant.SampleVocabulary(d.words, func(yield func(string) bool) {
		for _, a := range d.articles {
			if !yield(a.text) {
				return
			}
		}
	})}
}

func asArticles(docs []dataset.Document) (articles []*document) {
	for i, doc := range docs {
		articles = append(articles, &document{text: doc.Whole(), topic: doc.Topic, of: i})
	}
	return articles
}

// setRevised sets the revised texts and their groups.
func (d *data) setRevised(docs []dataset.Document, truth dataset.Truth, source string) {
	d.revision = source
	groups := truth.Groups(len(docs))
	for i, doc := range docs {
		d.revised = append(d.revised, &document{text: doc.Whole(), of: groups[i]})
	}
}

// shortPairs pairs each sentence of 8 to 45 characters with an edited copy of it, and with the next
// sentence.
func shortPairs(articles []*document) (pairs []shortPair) {
	var all []string
	for _, a := range articles {
		for _, s := range strings.FieldsFunc(a.text, func(c rune) bool { return strings.ContainsRune("。；！？\n", c) }) {
			if n := len([]rune(s)); isChinese(s) && n >= 8 && n <= 45 {
				all = append(all, s)
			}
		}
	}
	all = all[:min(len(all), 2000)]
	g := variant.Generator{Seed: 1}
	kinds := [2]variant.Kind{variant.SubstituteCharacters, variant.DeleteCharacters}
	for i, s := range all {
		edited, _ := g.Make(s, 0, variant.Edit{Kind: kinds[i%2], Rate: 0.05})
		pairs = append(pairs, shortPair{s, edited, 1}, shortPair{s, all[(i+1)%len(all)], 0})
	}
	return pairs
}

// pool returns a pool of documents: from each topic the first originals articles, each followed by
// its variants, one for each of ways, and then all other articles.
func (d *data) pool(originals int, ways [][]variant.Edit, topics ...string) (pool []*document) {
	var others []*document
	taken := map[string]int{}
	for _, a := range d.articles {
		if !slices.Contains(topics, a.topic) || taken[a.topic] == originals {
			others = append(others, a)
			continue
		}
		taken[a.topic]++
		pool = append(pool, a)
		for w, edits := range ways {
			if text, places := d.editor.Make(a.text, uint64(w), edits...); places > 0 {
				pool = append(pool, &document{text: text, topic: a.topic, of: a.of, meta: a.meta})
			}
		}
	}
	return append(pool, others...)
}
