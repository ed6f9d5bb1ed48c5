// Command letters makes the file of letters by which the program neardup finds out the encoding of a text: how often letters follow each other
// in a language. DIR has a text for each language, LANGUAGE.txt in UTF-8, of some hundred kilobytes, and encodings.tsv: a language, a tab, and
// the encodings in which its texts occur, with commas between.
//
//	go run -C cmd/neardup ./input/letters DIR >/tmp/letters.txt && mv /tmp/letters.txt cmd/neardup/input/
//
// The texts from which the file in the repository was made are translated manuals and messages of programs of Debian 12 and, where there are
// any, of the collections (docs/collections.md).
package main

import (
	"bufio"
	"cmp"
	"flag"
	"fmt"
	"log"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/text/encoding/htmlindex"

	"github.com/neardup/neardup/cmd/neardup/input"
)

func main() {
	log.SetFlags(0)
	isCheck := flag.Bool("check", false, "check how often the encodings of the texts are detected")
	pieces := flag.Int("pieces", 50, "with -check, how many pieces of each text are taken")
	verbose := flag.Bool("v", false, "with -check, print what is read incorrectly")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: letters [-check] DIR")
	}
	dir := flag.Arg(0)
	if *isCheck {
		check(dir, *pieces, *verbose)
		return
	}
	list, err := os.ReadFile(filepath.Join(dir, "encodings.tsv"))
	if err != nil {
		log.Fatal(err)
	}
	out := bufio.NewWriter(os.Stdout)
	fmt.Fprintln(out, "# How likely letters are to follow each other, made by the program in input/letters. A language and its encodings; then -8 ln p, and the pairs")
	fmt.Fprintln(out, "# of letters that have it: the second one after the first, where _ is none. A letter alone is one after any.")
	for line := range strings.Lines(string(list)) {
		language, encodings, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if encodings == "" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, language+".txt"))
		if err != nil {
			log.Fatal(err)
		}
		names := strings.Split(encodings, ",")
		fmt.Fprintf(out, "= %s %s\n", language, strings.Join(names, " "))
		write(out, count(string(text), language, encodable(names)))
	}
	if err := out.Flush(); err != nil {
		log.Fatal(err)
	}
}

// counts of what follows a letter, or of a language with thousands of letters, of the letters alone.
type counts struct {
	pairs map[[2]rune]int
	first map[rune]int // how often a letter has one behind it
	one   map[rune]int
	all   int
}

// isMany reports whether a language has so many letters that only single ones are counted.
func isMany(language string) bool {
	return language == "ja" || language == "ko" || strings.HasPrefix(language, "zh")
}

// encodable returns whether one of some encodings has a letter.
func encodable(names []string) func(rune) bool {
	has := map[rune]bool{}
	return func(r rune) bool {
		is, known := has[r]
		if known {
			return is
		}
		for _, name := range names {
			e, err := htmlindex.Get(name)
			if err != nil {
				log.Fatal(err)
			}
			if _, err := e.NewEncoder().String(string(r)); err == nil {
				is = true
			}
		}
		has[r] = is
		return is
	}
}

func count(text, language string, has func(rune) bool) *counts {
	c := &counts{pairs: map[[2]rune]int{}, first: map[rune]int{}, one: map[rune]int{}}
	before := '_'
	for _, r := range input.Letters(folded(text, language), language == "vi") {
		if !has(r) {
			r = '_'
		}
		if !isMany(language) {
			c.pairs[[2]rune{before, r}]++
		}
		if r >= 128 {
			c.one[r]++
		}
		if r >= 128 || before >= 128 {
			c.all++
		}
		c.first[before]++
		before = r
	}
	return c
}

const (
	worst      = 9 * 8 // costs above are those of a letter alone
	worstPlain = 5 * 8 // or of pairs of ASCII, all the same
	most       = 2500  // letters of a language
)

// write writes the costs of pairs, the least first.
func write(out *bufio.Writer, c *counts) {
	costs := map[int][]string{}
	ones := slices.SortedFunc(maps.Keys(c.one), func(a, b rune) int { return cmp.Or(c.one[b]-c.one[a], int(a-b)) })
	for _, r := range ones[:min(len(ones), most)] {
		if c.one[r] >= 3 {
			k := cost(c.one[r], c.all)
			costs[k] = append(costs[k], string(r))
		}
	}
	isLatin := c.first['e'] > c.all/10
	for pair, n := range c.pairs {
		if pair[0] < 128 && pair[1] < 128 { // by which the language is found out, where all others are ASCII
			if k := cost(n, c.first[pair[0]]); isLatin && k <= worstPlain {
				costs[k] = append(costs[k], string(pair[0])+string(pair[1]))
			}
		} else if k := cost(n, c.first[pair[0]]); n >= 3 && k <= worst && c.one[pair[0]]+c.one[pair[1]] >= 20 {
			costs[k] = append(costs[k], string(pair[0])+string(pair[1]))
		}
	}
	for _, k := range slices.Sorted(maps.Keys(costs)) {
		slices.Sort(costs[k])
		fmt.Fprintf(out, "%d %s\n", k, strings.Join(costs[k], " "))
	}
}

// cost returns -8 ln p.
func cost(n, of int) int { return int(math.Round(-8 * math.Log(float64(n)/float64(of)))) }

// folded returns a text with the letters that its legacy encodings have: windows-1256 has no yeh of Persian.
func folded(text, language string) string {
	if language == "fa" {
		return strings.ReplaceAll(text, "ی", "ي")
	}
	return text
}
