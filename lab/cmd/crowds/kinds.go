package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// This file makes collections in which all documents are alike, each kind in another way. The same number gives the same text.

// A kind is a way to be alike.
type kind struct {
	name  string
	texts func() func(i int) string // of document i, from 0 on
}

var kinds = []kind{
	{"letters", func() func(int) string { // one that people sign: two of 200 words are other ones
		page := words(1, 200)
		return changed(page, 2)
	}},
	{"template", func() func(int) string { // every sixth word is another one
		page := words(2, 200)
		return func(i int) string {
			own, r := slices.Clone(page), rand.New(rand.NewPCG(uint64(i), 2))
			for k := 3; k < len(own); k += 6 {
				own[k] = word(r)
			}
			return strings.Join(own, " ")
		}
	}},
	{"orders", func() func(int) string { // its sentences come in other orders
		page := words(3, 200)
		return func(i int) string {
			sentences, r := slices.Collect(slices.Chunk(page, 10)), rand.New(rand.NewPCG(uint64(i), 3))
			r.Shuffle(len(sentences), func(a, b int) { sentences[a], sentences[b] = sentences[b], sentences[a] })
			return strings.Join(slices.Concat(sentences...), " ")
		}
	}},
	{"prefixes", func() func(int) string { // beginnings of a long text
		page := words(4, 4000)
		return func(i int) string { return strings.Join(page[:50+(i*7919)%(len(page)-50)], " ") }
	}},
	{"numbered", func() func(int) string { // 60 words with numbers, which go on
		return func(i int) string {
			own := make([]string, 60)
			for k := range own {
				own[k] = fmt.Sprint("word", (i+k)%20_000)
			}
			return strings.Join(own, " ")
		}
	}},
	{"versions", func() func(int) string { // each is the one before with another word
		page := words(6, 200)
		own := slices.Clone(page)
		made := 0
		return func(i int) string {
			for ; made <= i; made++ {
				r := rand.New(rand.NewPCG(uint64(made), 6))
				own[r.IntN(len(own))] = word(r)
			}
			return strings.Join(own, " ")
		}
	}},
	{"halves", func() func(int) string { // a printed half, and one of its own
		page := words(7, 100)
		return func(i int) string {
			return strings.Join(page, " ") + " " + strings.Join(words(uint64(1000+i), 100), " ")
		}
	}},
	{"short", func() func(int) string { // 20 words, one of which is another one
		page := words(8, 20)
		return changed(page, 1)
	}},
}

// changed returns texts with n words of a page replaced.
func changed(page []string, n int) func(i int) string {
	return func(i int) string {
		own, r := slices.Clone(page), rand.New(rand.NewPCG(uint64(i), uint64(len(page))))
		for range n {
			own[r.IntN(len(own))] = word(r)
		}
		return strings.Join(own, " ")
	}
}

// words returns n words, which depend on a seed.
func words(seed uint64, n int) []string {
	r, all := rand.New(rand.NewPCG(seed, seed)), make([]string, n)
	for i := range all {
		all[i] = word(r)
	}
	return all
}

// word returns a word of three to eight letters.
func word(r *rand.Rand) string {
	b := make([]byte, 3+r.IntN(6))
	for i := range b {
		b[i] = byte('a' + r.IntN(26))
	}
	return string(b)
}
