// Package dataset reads collections of documents and their truth.
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

// A Document is a text, a record, or a text with a topic.
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

// Read returns the documents of a file of JSON lines, compressed by gzip if its name ends in .gz.
func Read(path string) ([]Document, error) { return ReadAs[Document](path) }

// ReadAs is Read for objects of another form.
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

// A Truth is the pairs of positions of documents, the smaller first, that are near-duplicates.
type Truth map[[2]int]bool

// Add adds the pair of two different positions.
func (t Truth) Add(i, j int) {
	if i != j {
		t[[2]int{min(i, j), max(i, j)}] = true
	}
}

// Has reports whether i and j are near-duplicates.
func (t Truth) Has(i, j int) bool { return t[[2]int{min(i, j), max(i, j)}] }

// Groups returns for each of n documents the number of its group, in the order of their first documents: what
// pairs connect.
func (t Truth) Groups(n int) (of []int) {
	number := map[int]int{}
	for _, first := range neardup.GroupPairs(n, func(yield func(neardup.Pair[int]) bool) {
		for p := range t {
			if !yield(neardup.Pair[int]{A: p[0], B: p[1]}) {
				return
			}
		}
	}, neardup.Chains, nil) {
		if _, ok := number[first]; !ok {
			number[first] = len(number)
		}
		of = append(of, number[first])
	}
	return of
}

// ReadTruth reads lines of two columns with a tab between them: two ids, or an id and a cluster if the second is not always
// an id.
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
			return nil, fmt.Errorf("%s:%d: no tab", path, len(rows)+1)
		}
		rows = append(rows, [2]string{a, b})
		_, ok = number[b]
		pairs = pairs && ok
	}
	truth, clusters := Truth{}, map[string][]int{}
	for n, row := range rows {
		i, ok := number[row[0]]
		with := clusters[row[1]]
		if pairs {
			with = []int{number[row[1]]}
		}
		if !ok {
			return nil, fmt.Errorf("%s:%d: an id that no document has", path, n+1)
		}
		for _, j := range with {
			truth.Add(i, j)
		}
		clusters[row[1]] = append(clusters[row[1]], i)
	}
	return truth, nil
}

// Distinct returns the documents of which no earlier one has much of the text: of its runs of
// four characters less than a fifth in common (Jaccard), and less than a half of those of the shorter.
// Real collections have near-duplicates of their own, and what is measured with planted ones
// must not count these as mistakes.
func Distinct(docs []Document) (distinct []Document) {
	f := neardup.Fingerprinter{Tokenizer: neardup.NGrams{N: 4}}
	var sets []neardup.Set
	having := map[uint64][]int32{}
next:
	for _, d := range docs {
		set := f.Set(d.Whole())
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
