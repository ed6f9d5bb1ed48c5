package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/neardup/neardup/lab/sentences"
)

// This file makes collections. A document is about 1 KB of sentences that are drawn from books (English) or
// laws (Chinese). Each tenth document is a copy of an earlier one that is no copy itself, in which 0.5 to
// 20 % of the words (characters of Chinese) are replaced, deleted or inserted; the share is uniform on a
// logarithmic scale. So each copy and its original are one planted pair, and two copies of one original
// are another.

// A collection is a file of documents as lines of JSON, and its planted pairs.
type collection struct {
	path      string
	megabytes float64
	original  []int32 // of each copy the number of its original, else its own number
	planted   int     // pairs
	shuffled  bool    // the words of each document, or its characters
}

// collectionOf makes a collection of n documents in a folder, or takes the one that is there.
func collectionOf(data, language string, n int, shuffled bool, folder string) (*collection, error) {
	name := fmt.Sprintf("growth-%s-%d.jsonl", language, n)
	if shuffled {
		name = "shuffled-" + name
	}
	c := &collection{path: filepath.Join(folder, name), original: make([]int32, n), shuffled: shuffled}
	members := make([]int, n)
	random := rand.New(rand.NewPCG(uint64(n), 21))
	for i := range c.original {
		c.original[i] = int32(i)
		if i%10 == 9 {
			if of := random.IntN(i); of%10 != 9 {
				c.original[i] = int32(of)
			}
		}
		c.planted += members[c.original[i]]
		members[c.original[i]]++
	}
	if _, err := os.Stat(c.path); errors.Is(err, fs.ErrNotExist) {
		if err := c.write(filepath.Join(data, "throughput", language+".txt.gz"), language == "zh"); err != nil {
			return nil, err
		}
	}
	info, err := os.Stat(c.path)
	if err != nil {
		return nil, err
	}
	c.megabytes = float64(info.Size()) / 1e6
	return c, nil
}

// write writes the documents.
func (c *collection) write(source string, chinese bool) (err error) {
	all, err := sentences.Read(source, chinese)
	if err != nil {
		return err
	}
	f, err := os.Create(c.path + ".new")
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	for i, of := range c.original {
		words := sentences.Document(rand.New(rand.NewPCG(uint64(of), 1)), all)
		if c.shuffled {
			rand.New(rand.NewPCG(uint64(of), 3)).Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
		}
		separator := " "
		if chinese {
			separator = ""
		}
		if int(of) != i {
			random := rand.New(rand.NewPCG(uint64(i), 2))
			other := sentences.Document(random, all)
			words = edit(random, words, other, 0.005*math.Pow(40, random.Float64()))
		}
		line, err := json.Marshal(struct {
			ID   string `json:"id"`
			Text string `json:"text"`
		}{fmt.Sprint(i), strings.Join(words, separator)})
		if err != nil {
			return err
		}
		w.Write(append(line, '\n'))
	}
	if err := errors.Join(w.Flush(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), c.path)
}

// edit returns words in which a share are replaced by words of another document, deleted, or have one
// inserted before them. At least one is.
func edit(random *rand.Rand, words, other []string, share float64) (edited []string) {
	forced := random.IntN(len(words))
	for i, w := range words {
		if i != forced && random.Float64() >= share {
			edited = append(edited, w)
			continue
		}
		x := other[random.IntN(len(other))]
		switch random.IntN(3) {
		case 0:
			edited = append(edited, x)
		case 1:
			edited = append(edited, x, w)
		}
	}
	return edited
}

// score reads a file of pairs, and returns how many there are and how many of them are planted.
func (c *collection) score(path string) (found, right int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var a, b int
		if _, err := fmt.Sscan(lines.Text(), &a, &b); err != nil {
			if found == 0 { // the head
				continue
			}
			return 0, 0, fmt.Errorf("%s: %q: %w", path, lines.Text(), err)
		}
		found++
		if c.original[a] == c.original[b] {
			right++
		}
	}
	return found, right, nil
}
