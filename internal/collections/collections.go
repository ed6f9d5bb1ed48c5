// Package collections has collections of texts for the tests of other engines: small ones of every shape, and those
// in the folder NEARDUP_DATA.
package collections

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Texts are texts by id.
type Texts map[string]string

// Shapes returns small collections by name. A text is words of a small vocabulary, some of them changed.
//
//	empty, one     no text, one text
//	mixed          groups of a few edited texts; texts without features, and of bytes that are no UTF-8
//	shared         a third is nearly the same, so they share bands and blocks
//	equal          200 equal texts
//	chain          1,000 texts, each of which is near the next ones only
func Shapes() map[string]Texts {
	r := rand.New(rand.NewPCG(7, 7))
	words := func(n int) (w []string) {
		for range n {
			w = append(w, fmt.Sprintf("w%d", r.IntN(3000)))
		}
		return w
	}
	edit := func(w []string, n int) string {
		w = slices.Clone(w)
		for range n {
			w[r.IntN(len(w))] = words(1)[0]
		}
		return strings.Join(w, " ")
	}
	mixed, shared, equal, chain := Texts{}, Texts{}, Texts{}, Texts{}
	var base []string
	for i := range 200 {
		if i%4 == 0 {
			base = words(100)
		}
		mixed[fmt.Sprintf("m%d", i*7919%200)] = edit(base, r.IntN(12))
	}
	mixed["nothing here"], mixed["nothing there"] = "!", "?"
	mixed["no features"], mixed["it's a \"quote\""], mixed[""] = "…", "\xff\xfe bytes", "an empty id"
	base = words(100)
	for i := range 240 {
		if i%3 == 0 {
			shared[fmt.Sprint(i)] = edit(base, 2)
		} else {
			shared[fmt.Sprint(i)] = edit(words(100), 0)
		}
	}
	for i := range 200 {
		equal[fmt.Sprint(i)] = "all of them are equal, every one of these texts"
	}
	window := words(1100)
	for i := range 1000 {
		chain[fmt.Sprint(i*7919%1000)] = strings.Join(window[i:i+60], " ")
	}
	return map[string]Texts{"empty": {}, "one": {"a": "one text"}, "mixed": mixed, "shared": shared, "equal": equal, "chain": chain}
}

// Data returns the collections in a folder that has one folder for each, with docs.jsonl.gz or pairs.jsonl.gz. A record is
// the text of its fields.
func Data(dir string) (map[string]Texts, error) {
	all := map[string]Texts{}
	paths, err := filepath.Glob(filepath.Join(dir, "*", "*.jsonl.gz"))
	for _, path := range paths {
		texts, err := read(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all[filepath.Base(filepath.Dir(path))] = texts
	}
	return all, err
}

// read reads a file of documents, or of pairs of texts.
func read(path string) (Texts, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(bufio.NewReader(f))
	if err != nil {
		return nil, err
	}
	texts := Texts{}
	lines := json.NewDecoder(z)
	for n := 0; ; n++ {
		var line struct {
			ID, Text, A, B string
			Fields         json.RawMessage
		}
		if err := lines.Decode(&line); err == io.EOF {
			return texts, nil
		} else if err != nil {
			return nil, err
		}
		if line.ID == "" {
			texts[fmt.Sprintf("%d a", n)], texts[fmt.Sprintf("%d b", n)] = line.A, line.B
		} else if texts[line.ID] = line.Text; line.Text == "" {
			texts[line.ID] = string(line.Fields)
		}
	}
}
