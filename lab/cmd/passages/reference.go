package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/neardup/neardup/passages"
)

// This file compares what package passages finds with what a sorted list of all suffixes says, and with what was planted.

const least = 50 // words of a passage

// check does that.
func (c *collection) check() error {
	texts := make([]string, c.documents)
	for i := range texts {
		texts[i] = strings.Join(c.document(i), " ")
		if strings.ContainsFunc(texts[i], func(r rune) bool { return r > 127 }) {
			texts[i] = "" // the reference knows ASCII only
		}
	}
	f, err := passages.New[int](passages.Options{})
	if err != nil {
		return err
	}
	err = f.AddAll(context.Background(), func(yield func(int, string) bool) {
		for i, text := range texts {
			if !yield(i, text) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	// Of each document, which bytes stand twice.
	covered := make([]map[int]int, c.documents) // from the first byte of a place to the last one
	wrong, places := 0, 0
	for p, err := range f.Passages(context.Background()) {
		if err != nil {
			return err
		}
		first := p.Places[0]
		for _, x := range p.Places {
			places++
			if covered[x.Number] == nil {
				covered[x.Number] = map[int]int{}
			}
			covered[x.Number][x.From] = max(covered[x.Number][x.From], x.To)
			if !equal(texts[x.Number][x.From:x.To], texts[first.Number][first.From:first.To]) {
				wrong++
			}
		}
	}
	fmt.Printf("%d places of passages, %d of them with another text\n", places, wrong)
	c.compare(texts, covered)
	c.recall(texts, covered)
	return nil
}

// equal reports whether two texts have the same words, without case and signs.
func equal(a, b string) bool {
	return a == b || slices.Equal(strings.FieldsFunc(strings.ToLower(a), isNoLetter), strings.FieldsFunc(strings.ToLower(b), isNoLetter))
}

func isNoLetter(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9') }

// A token is a word of a text: its number among the different ones, and where it begins and ends.
type token struct{ word, from, to int32 }

// tokens cuts a text into words.
func tokens(text string, words map[string]int32) (all []token) {
	text = strings.ToLower(text)
	for i := 0; i < len(text); {
		if isNoLetter(rune(text[i])) {
			i++
			continue
		}
		from := i
		for i < len(text) && !isNoLetter(rune(text[i])) {
			i++
		}
		w, ok := words[text[from:i]]
		if !ok {
			w = int32(len(words))
			words[text[from:i]] = w
		}
		all = append(all, token{w, int32(from), int32(i)})
	}
	return all
}

// compare sorts all suffixes by their first 64 words, by doubling (Manber and Myers 1990), and compares the words that are in a run of 50 that
// stands twice with the places of passages.
func (c *collection) compare(texts []string, covered []map[int]int) {
	words := map[string]int32{}
	var ranks []int32 // of suffixes, by the words that were compared so far
	var docs [][]token
	for i, text := range texts {
		all := tokens(text, words)
		docs = append(docs, all)
		for _, t := range all {
			ranks = append(ranks, t.word)
		}
		ranks = append(ranks, -1-int32(i)) // nothing goes on beyond the end of a text
	}
	for i := range ranks {
		if ranks[i] < 0 {
			ranks[i] = int32(len(words)) - 1 - ranks[i]
		}
	}
	// After comparing n words, n more of the suffix behind them. So 1, 2, 4, 8, 16, 32, and then 18 for 50.
	for n := 1; n < least; {
		step := min(n, least-n)
		ranks = doubled(ranks, step)
		n += step
	}
	counts := make([]int32, len(ranks))
	for _, r := range ranks {
		counts[r]++
	}
	both, missed, more, at := 0, 0, 0, 0
	for i, doc := range docs {
		is, want := make([]bool, len(doc)), make([]bool, len(doc))
		for k := range len(doc) - least + 1 {
			if counts[ranks[at+k]] > 1 {
				set(want[k : k+least])
			}
		}
		at += len(doc) + 1
		cover(is, doc, covered[i])
		for k := range doc {
			both += count(want[k] && is[k])
			missed += count(want[k] && !is[k])
			more += count(!want[k] && is[k])
		}
	}
	fmt.Printf("against a list of all suffixes: %d words stand twice in runs of %d, %d of them were missed, and %d others reported\n", both+missed, least, missed, more)
}

// cover sets the bits of the words that are in places.
func cover(is []bool, doc []token, places map[int]int) {
	for from, to := range places {
		first, _ := slices.BinarySearchFunc(doc, from, func(t token, from int) int { return cmp.Compare(int(t.from), from) })
		last := first
		for ; last < len(doc) && int(doc[last].to) <= to; last++ {
		}
		set(is[first:last])
	}
}

// set sets all bits.
func set(bits []bool) {
	for i := range bits {
		bits[i] = true
	}
}

// count returns 1 for true.
func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// doubled returns the ranks of suffixes by their own rank and that of the suffix step words behind.
func doubled(ranks []int32, step int) []int32 {
	keys := make([]uint64, len(ranks))
	order := make([]int32, len(ranks))
	for i, r := range ranks {
		order[i] = int32(i)
		next := int32(0)
		if i+step < len(ranks) {
			next = ranks[i+step] + 1
		}
		keys[i] = uint64(r)<<32 | uint64(next)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(keys[a], keys[b]) })
	next := make([]int32, len(ranks))
	rank := int32(0)
	for i, at := range order {
		if i > 0 && keys[at] != keys[order[i-1]] {
			rank++
		}
		next[at] = rank
	}
	return next
}

// recall prints how much of what was planted was found, by length and edits.
func (c *collection) recall(texts []string, covered []map[int]int) {
	type tally struct{ planted, found, words, covered int }
	counts := map[[2]int]*tally{}
	for i := range c.documents {
		p, ok := c.planting(i)
		if !ok || texts[i] == "" || slices.Contains(texts[p.source:min(p.last+1, len(texts))], "") {
			continue
		}
		n := counts[[2]int{p.length, p.edits}]
		if n == nil {
			n = &tally{}
			counts[[2]int{p.length, p.edits}] = n
		}
		own := c.own(i)
		begin := len(strings.Join(own[:len(own)/2], " ")) + 1
		is := false
		for _, w := range p.words {
			for from, to := range covered[i] {
				if begin >= from && begin+len(w) <= to+1 { // a word may end with a sign
					n.covered++
					is = true
					break
				}
			}
			begin += len(w) + 1
			n.words++
		}
		n.planted++
		if is {
			n.found++
		}
	}
	fmt.Println("planted passages that were found, and how much of them:")
	fmt.Println("words   no edit          1                2                3")
	for _, length := range lengths {
		fmt.Printf("%5d", length)
		for edits := range mostEdits + 1 {
			if n := counts[[2]int{length, edits}]; n != nil {
				fmt.Printf("   %.3f  (%.2f)", float64(n.found)/float64(n.planted), float64(n.covered)/float64(n.words))
			}
		}
		fmt.Println()
	}
}
