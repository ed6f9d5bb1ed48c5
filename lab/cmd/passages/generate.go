package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/neardup/neardup/lab/sentences"
)

// This file makes collections. Document i is a function of i alone, so a passage can be planted from any document.

// A collection is a file of documents as lines of JSON.
type collection struct {
	path      string
	sentences [][]string
	words     []string // from which others are drawn
	documents int
}

// perDocument is about how many bytes a document has as JSON.
const perDocument = 1040

// Each fiftieth document has a planted passage of one of these lengths, in which so many words are other ones.
const plantedEach = 50

var (
	lengths   = []int{30, 50, 70, 100, 200, 500}
	mostEdits = 3
)

// collectionOf makes a collection of so many megabytes in a folder, or takes the one that is there.
func collectionOf(data string, megabytes int, folder string) (*collection, error) {
	all, err := sentences.Read(filepath.Join(data, "throughput", "en.txt.gz"), false)
	if err != nil {
		return nil, err
	}
	c := &collection{path: filepath.Join(folder, fmt.Sprintf("passages-%d.jsonl", megabytes)), sentences: all, documents: megabytes * 1_000_000 / perDocument}
	for _, s := range all[:10_000] {
		c.words = append(c.words, s...)
	}
	if _, err := os.Stat(c.path); !errors.Is(err, fs.ErrNotExist) {
		return c, err
	}
	err = writeLines(c.path+".new", c.documents, func(i int) any {
		return map[string]string{"id": fmt.Sprint(i), "text": strings.Join(c.document(i), " ")}
	})
	if err != nil {
		return nil, err
	}
	return c, os.Rename(c.path+".new", c.path)
}

// own returns the words of a document without what is planted: sentences, of which each twentieth word is another one.
func (c *collection) own(i int) []string {
	random := rand.New(rand.NewPCG(uint64(i), 31))
	words := sentences.Document(random, c.sentences)
	for k := range words {
		if random.IntN(20) == 0 {
			words[k] = c.words[random.IntN(len(c.words))]
		}
	}
	return words
}

// A planting is a passage of one document in another one.
type planting struct {
	source, last  int // the documents from which it is; of 500 words, there are several
	words         []string
	length, edits int
}

// planting returns what is planted in a document.
func (c *collection) planting(i int) (p planting, ok bool) {
	if i%plantedEach != plantedEach-1 {
		return p, false
	}
	random := rand.New(rand.NewPCG(uint64(i), 32))
	p.source = random.IntN(i)
	if p.source%plantedEach == plantedEach-1 {
		p.source-- // which has nothing planted
	}
	p.length, p.edits = lengths[random.IntN(len(lengths))], random.IntN(mostEdits+1)
	for n := p.source; len(p.words) < p.length; n++ {
		p.words, p.last = append(p.words, c.own(n)...), n
	}
	p.words = p.words[:p.length]
	for _, k := range random.Perm(p.length)[:p.edits] {
		p.words[k] = "changed"
	}
	return p, true
}

// document returns the words of a document.
func (c *collection) document(i int) []string {
	words := c.own(i)
	if p, ok := c.planting(i); ok {
		half := len(words) / 2
		return append(append(append([]string{}, words[:half]...), p.words...), words[half:]...)
	}
	return words
}
