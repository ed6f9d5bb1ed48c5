package main

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/neardup/neardup/passages"
)

// This file measures how long it takes to look up a new document in a collection.

// search adds the collection to a Finder, and looks for documents with a passage of one of them.
func (c *collection) search(memory int64) error {
	f, err := passages.New[int](passages.Options{Memory: memory})
	if err != nil {
		return err
	}
	start := time.Now()
	var failed error
	if err := f.AddAll(context.Background(), texts(c.path, &failed)); err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	added := time.Since(start)
	start = time.Now()
	if _, err := c.lookUp(f, c.documents); err != nil {
		return err
	}
	first := time.Since(start)
	fmt.Printf("%d documents added in %.1f s, the first search took %.1f s\n", c.documents, added.Seconds(), first.Seconds())
	next := c.documents / plantedEach * plantedEach
	for _, kind := range []struct {
		name string
		of   func(i int) int // the number of a document behind the last one
	}{
		{"with a passage of a document", func(i int) int { return next + i*plantedEach + plantedEach - 1 }},
		{"others", func(i int) int { return next + i*plantedEach + plantedEach }},
	} {
		var took []time.Duration
		found := 0
		const searches = 2000
		for i := range searches {
			start := time.Now()
			is, err := c.lookUp(f, kind.of(i))
			if err != nil {
				return err
			}
			took = append(took, time.Since(start))
			if is {
				found++
			}
		}
		slices.Sort(took)
		fmt.Printf("    %d %s: %d found something, median %v, 99 %% below %v, longest %v\n", searches, kind.name, found,
			took[searches/2].Round(time.Microsecond), took[searches*99/100].Round(time.Microsecond), took[searches-1].Round(time.Microsecond))
	}
	return nil
}

// lookUp searches for a document, and reports whether anything was found.
func (c *collection) lookUp(f *passages.Finder[int], i int) (is bool, err error) {
	text := ""
	for _, w := range c.document(i) {
		text += w + " "
	}
	for _, err := range f.Search(context.Background(), text) {
		if err != nil {
			return false, err
		}
		is = true
	}
	return is, nil
}

// texts yields the texts of a file of JSON lines, which may be compressed by gzip, with their numbers.
func texts(path string, failed *error) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		file, err := os.Open(path)
		if err != nil {
			*failed = err
			return
		}
		defer file.Close()
		plain := io.Reader(file)
		if strings.HasSuffix(path, ".gz") {
			if plain, *failed = gzip.NewReader(file); *failed != nil {
				return
			}
		}
		lines := bufio.NewScanner(plain)
		lines.Buffer(nil, 1<<26)
		for i := 0; lines.Scan(); i++ {
			var d struct{ Text string }
			if *failed = json.Unmarshal(lines.Bytes(), &d); *failed != nil || !yield(i, d.Text) {
				return
			}
		}
		*failed = lines.Err()
	}
}
