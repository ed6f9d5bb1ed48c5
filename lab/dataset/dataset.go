// Package dataset reads collections of documents and their truth, that is, which documents are
// near-duplicates.
package dataset

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/neardup/neardup"
)

// A Document is a text, a text with a topic, or a record.
type Document struct {
	ID     string         `json:"id"`
	Topic  string         `json:"topic,omitempty"`
	Title  string         `json:"title,omitempty"`
	Text   string         `json:"text,omitempty"`
	Fields neardup.Record `json:"fields,omitempty"`
}

// Whole returns the title, if there is one, and the text.
func (d Document) Whole() string {
	if d.Title == "" {
		return d.Text
	}
	return d.Title + "\n" + d.Text
}

// Read reads the documents of a file of JSON lines. The file is compressed by gzip if its name ends
// in .gz.
func Read(path string) ([]Document, error) { return ReadAs[Document](path) }

// ReadAs is Read for objects of any type.
func ReadAs[T any](path string) (all []T, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := io.Reader(bufio.NewReader(f))
	if strings.HasSuffix(path, ".gz") {
		if r, err = gzip.NewReader(r); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	for dec := json.NewDecoder(r); ; {
		var d T
		if err := dec.Decode(&d); err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: document %d: %w", path, len(all)+1, err)
		}
		all = append(all, d)
	}
}

// A Truth is the set of pairs of near-duplicates. A pair has the positions of two documents, the
// smaller first.
type Truth map[[2]int]bool

// Add adds the pair of two different positions.
func (t Truth) Add(i, j int) {
	if i != j {
		t[[2]int{min(i, j), max(i, j)}] = true
	}
}

// Has reports whether i and j are near-duplicates.
func (t Truth) Has(i, j int) bool { return t[[2]int{min(i, j), max(i, j)}] }

// Groups returns for each of n documents the number of its group. Documents are in the same group
// if a chain of pairs connects them. Groups are numbered in the order of their first documents.
func (t Truth) Groups(n int) (of []int) {
	number := map[int]int{}
	firsts, err := neardup.GroupPairs(n, func(yield func(neardup.Pair[int], error) bool) {
		for p := range t {
			if !yield(neardup.Pair[int]{A: p[0], B: p[1]}, nil) {
				return
			}
		}
	}, neardup.SingleLinkage, nil)
	if err != nil {
		panic(err)
	}
	for _, first := range firsts {
		if _, ok := number[first]; !ok {
			number[first] = len(number)
		}
		of = append(of, number[first])
	}
	return of
}

// ReadTruth reads lines of two columns, separated by a tab. If the second column always has an id, and another one than the
// first, a line is a pair of near-duplicates. Otherwise a line is an id and the name of its cluster.
func ReadTruth(path string, docs []Document) (Truth, error) {
	labels, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	number := map[string]int{}
	for i, d := range docs {
		number[d.ID] = i
	}
	var rows [][2]string
	pairs := true
	for line := range strings.Lines(string(labels)) {
		a, b, ok := strings.Cut(strings.TrimRight(line, "\r\n"), "\t")
		if !ok {
			return nil, fmt.Errorf("%s:%d: the line has no tab", path, len(rows)+1)
		}
		rows = append(rows, [2]string{a, b})
		_, ok = number[b]
		pairs = pairs && ok && a != b // a cluster may have a name that is also an id, but a pair is of two documents
	}
	truth, clusters := Truth{}, map[string][]int{}
	for n, row := range rows {
		i, ok := number[row[0]]
		with := clusters[row[1]]
		if pairs {
			with = []int{number[row[1]]}
		}
		if !ok {
			return nil, fmt.Errorf("%s:%d: no document has this id", path, n+1)
		}
		for _, j := range with {
			truth.Add(i, j)
		}
		clusters[row[1]] = append(clusters[row[1]], i)
	}
	return truth, nil
}

// Distinct leaves out documents that share much text with an earlier one: at least a fifth of the
// runs of four characters of both (Jaccard), or at least half of the runs of the shorter one. Real
// collections have near-duplicates of their own. An experiment with planted ones must not count
// them as mistakes.
func Distinct(docs []Document) (distinct []Document) {
	f := neardup.Fingerprinter{Tokenizer: neardup.NGrams{N: 4}}
	var sets []neardup.Set
	having := map[uint64][]int32{}
next:
	for _, d := range docs {
		set := f.Set(neardup.Text(d.Whole()))
		common := map[int32]int{}
		for _, h := range set {
			for _, other := range having[h] {
				common[other]++
			}
		}
		for other, n := range common {
			least := min(len(set), len(sets[other]))
			if 2*n >= least || 5*n >= len(set)+len(sets[other])-n {
				continue next
			}
		}
		for _, h := range set {
			having[h] = append(having[h], int32(len(sets)))
		}
		sets = append(sets, set)
		distinct = append(distinct, d)
	}
	return distinct
}
