package link

import "slices"

// This file reads the cells of a column. Most columns have the same cells again and again, so each is looked at once.

// Cells are the cells of a column, each distinct one once.
type cells struct {
	of    []int32  // of each row, the number of its cell; -1 for an empty one
	texts []string // in the order of the first rows that have them
	rows  []int32  // how many rows have each
}

// read reads the cells of a column.
func read(column []string) cells {
	of, texts := intern(column)
	c := cells{of, texts, make([]int32, len(texts))}
	for _, n := range of {
		if n >= 0 {
			c.rows[n]++
		}
	}
	return c
}

// with returns the cells with other texts, one for each; some may be the same, or empty.
func (c *cells) with(texts []string) cells {
	to, distinct := intern(texts)
	made := cells{make([]int32, len(c.of)), distinct, make([]int32, len(distinct))}
	for n, rows := range c.rows {
		if to[n] >= 0 {
			made.rows[to[n]] += rows
		}
	}
	inChunks(1<<14, len(c.of), func(from, end int) {
		for row := from; row < end; row++ {
			if made.of[row] = c.of[row]; made.of[row] >= 0 {
				made.of[row] = to[made.of[row]]
			}
		}
	})
	return made
}

// each returns what do makes of each text, on all processors.
func (c *cells) each(do func(text string) string) []string {
	made := make([]string, len(c.texts))
	inChunks(1000, len(made), func(from, to int) {
		for n := from; n < to; n++ {
			made[n] = do(c.texts[n])
		}
	})
	return made
}

// count returns how many rows have a cell that isOne picks.
func (c *cells) count(isOne func(n int) bool) (rows int) {
	for n, k := range c.rows {
		if isOne(n) {
			rows += int(k)
		}
	}
	return rows
}

// pieces is into how many pieces texts are cut that are numbered: more than there are processors, and so few that what is in several pieces costs little.
const pieces = 32

// intern numbers texts in the order in which they come first, and returns the number of each, and the text of each number; an empty text has the number -1. Each
// piece of the texts is numbered for itself before the numbers of all are known, so it takes all processors but for what is distinct in the pieces.
func intern(texts []string) (of []int32, distinct []string) {
	of = make([]int32, len(texts))
	size := max(1000, (len(texts)+pieces-1)/pieces)
	firsts := make([][]string, (len(texts)+size-1)/size) // by pieces, what is distinct in it
	inChunks(size, len(texts), func(from, to int) {
		known := map[string]int32{}
		var first []string
		for i := from; i < to; i++ {
			if texts[i] == "" {
				of[i] = -1
				continue
			}
			n, isKnown := known[texts[i]]
			if !isKnown {
				n = int32(len(first))
				known[texts[i]] = n
				first = append(first, texts[i])
			}
			of[i] = n
		}
		firsts[from/size] = first
	})
	if len(firsts) == 1 {
		return of, firsts[0]
	}
	known := make(map[string]int32)
	numbers := make([][]int32, len(firsts))
	for piece, first := range firsts {
		numbers[piece] = make([]int32, len(first))
		for i, text := range first {
			n, isKnown := known[text]
			if !isKnown {
				n = int32(len(distinct))
				known[text] = n
				distinct = append(distinct, text)
			}
			numbers[piece][i] = n
		}
	}
	inChunks(size, len(texts), func(from, to int) {
		for i := from; i < to; i++ {
			if of[i] >= 0 {
				of[i] = numbers[from/size][of[i]]
			}
		}
	})
	return of, slices.Clip(distinct)
}
