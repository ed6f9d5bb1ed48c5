package main

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// This file plants items of a test in a corpus, and counts which of them neardup decontaminate finds.

// leakEach is how many documents have one planted item.
const leakEach = 100

// An edit is what becomes of an item before it is planted.
type edit struct {
	name string
	of   func(random *rand.Rand, item []string, other func() string) string
}

// changed returns words of which one in so many is another one.
func changed(each int) func(random *rand.Rand, item []string, other func() string) string {
	return func(random *rand.Rand, item []string, other func() string) string {
		for i := range item {
			if random.IntN(each) == 0 {
				item[i] = other()
			}
		}
		return strings.Join(item, " ")
	}
}

var edits = []edit{
	{"whole", func(_ *rand.Rand, item []string, _ func() string) string { return strings.Join(item, " ") }},
	{"other punctuation and case", func(_ *rand.Rand, item []string, _ func() string) string {
		return "“" + strings.ToUpper(strings.Join(item, "，")) + "？”"
	}},
	{"the first half", func(_ *rand.Rand, item []string, _ func() string) string {
		return strings.Join(item[:(len(item)+1)/2], " ")
	}},
	{"one word in twenty changed", changed(20)},
	{"one word in ten changed", changed(10)},
	{"one word in five changed", changed(5)},
}

// leaks writes a corpus of so many documents with planted items, runs the program, and prints what it found.
func (c *collection) leaks(program, folder string, documents, items int, flags []string) error {
	word := func(random *rand.Rand) string { return c.words[random.IntN(len(c.words))] }
	itemOf := func(k int) (words []string) {
		random := rand.New(rand.NewPCG(uint64(k), 41))
		for range 20 + random.IntN(60) {
			words = append(words, word(random))
		}
		return words
	}
	tests, corpus, found := filepath.Join(folder, "tests.jsonl"), filepath.Join(folder, "corpus.jsonl"), filepath.Join(folder, "leaks.csv")
	err := writeLines(tests, items, func(k int) any {
		return map[string]string{"id": fmt.Sprint(k), "question": strings.Join(itemOf(k), " ")}
	})
	if err != nil {
		return err
	}
	planted := func(i int) (item, how int, ok bool) {
		random := rand.New(rand.NewPCG(uint64(i), 42))
		return random.IntN(items), random.IntN(len(edits)), i%leakEach == 0
	}
	err = writeLines(corpus, documents, func(i int) any {
		words := c.own(i)
		if k, how, ok := planted(i); ok {
			random := rand.New(rand.NewPCG(uint64(i), 43))
			words = append(words[:len(words)/2:len(words)/2], edits[how].of(random, itemOf(k), func() string { return word(random) }))
		}
		return map[string]string{"id": fmt.Sprint(i), "text": strings.Join(words, " ")}
	})
	if err != nil {
		return err
	}
	start := time.Now()
	if out, err := exec.Command(program, append([]string{"decontaminate", "-q", "--leaks", found, tests, corpus}, flags...)...).CombinedOutput(); err != nil {
		return fmt.Errorf("decontaminate: %w\n%s", err, out)
	}
	took := time.Since(start)
	hits, err := readLeaks(found)
	if err != nil {
		return err
	}
	all, right := make([]int, len(edits)), make([]int, len(edits))
	for i := range documents {
		if k, how, ok := planted(i); ok {
			all[how]++
			if hits[[2]int{i, k}] {
				right[how]++
				delete(hits, [2]int{i, k})
			}
		}
	}
	fmt.Printf("%d items against %d documents: %.1f s; of what was planted were found:\n", items, documents, took.Seconds())
	for how, e := range edits {
		fmt.Printf("    %.3f of %d: %s\n", float64(right[how])/float64(all[how]), all[how], e.name)
	}
	fmt.Printf("    and %d others\n", len(hits))
	return nil
}

// writeLines writes lines of JSON.
func writeLines(path string, n int, of func(i int) any) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	e := json.NewEncoder(w)
	for i := range n {
		if err := e.Encode(of(i)); err != nil {
			return err
		}
	}
	return errors.Join(w.Flush(), f.Close())
}

// readLeaks returns the pairs of documents and items that were found.
func readLeaks(path string) (map[[2]int]bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, err
	}
	hits := map[[2]int]bool{}
	for _, row := range rows[1:] {
		item, err := strconv.Atoi(row[0])
		document, failed := strconv.Atoi(row[6])
		if err := errors.Join(err, failed); err != nil {
			return nil, err
		}
		hits[[2]int{document, item}] = true
	}
	return hits, nil
}
