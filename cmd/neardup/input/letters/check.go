package main

import (
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/unicode/norm"

	"github.com/neardup/neardup/cmd/neardup/input"
)

// check encodes pieces of the texts of a folder in all of their encodings, and prints how often the right one is found, none, and a wrong one.
// An encoding is right if it reads the text that was written.
func check(dir string, pieces int, verbose bool) {
	list, err := os.ReadFile(filepath.Join(dir, "encodings.tsv"))
	if err != nil {
		log.Fatal(err)
	}
	sizes := []int{512, 2048, 20480}
	fmt.Printf("%-4s %-14s", "", "")
	for _, size := range sizes {
		fmt.Printf("  %8d B: right asked wrong", size)
	}
	fmt.Println()
	var total [3][3]int
	for line := range strings.Lines(string(list)) {
		language, names, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if names == "" {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, language+".txt"))
		if err != nil {
			log.Fatal(err)
		}
		for _, name := range strings.Split(names, ",") {
			e, err := htmlindex.Get(name)
			if err != nil {
				log.Fatal(err)
			}
			lines := encoded(string(b), language, name, e)
			fmt.Printf("%-4s %-14s", language, name)
			for i, size := range sizes {
				n := try(lines, size, pieces, language+" "+name, verbose)
				fmt.Printf("  %14d %6d %5d", n[0], n[1], n[2])
				for k := range n {
					total[i][k] += n[k]
				}
			}
			fmt.Println()
		}
	}
	fmt.Printf("%-19s", "all")
	for _, n := range total {
		fmt.Printf("  %14d %6d %5d", n[0], n[1], n[2])
	}
	fmt.Println()
}

// signs are written otherwise where an encoding does not have them.
var signs = strings.NewReplacer("“", `"`, "”", `"`, "„", `"`, "«", `"`, "»", `"`, "‘", "'", "’", "'", "‚", "'", "–", "-", "—", "-", "‐", "-", "…", "...", "•", "*", "\u00a0", " ",
	"−", "-", "״", `"`, "־", "-", "\u0654", "", "\u200c", " ", "\u200d", "", "\u200e", "", "\u200f", "", "。", ".", "、", ",")

// encoded returns the lines of a text in an encoding. What it does not have is written as people do.
func encoded(text, language, name string, e encoding.Encoding) (lines [][]byte) {
	switch {
	case language == "fa":
		text = strings.ReplaceAll(folded(text, language), "\u0654", "")
	case language == "ro" && name != "iso-8859-16":
		text = strings.NewReplacer("ș", "ş", "ț", "ţ", "Ș", "Ş", "Ț", "Ţ").Replace(text)
	case language == "vi": // what the encoding has stays in one piece, as iconv writes it
		text = norm.NFC.String(text)
	case name == "ibm866":
		text = strings.NewReplacer("і", "i", "І", "I").Replace(text)
	}
	known := map[rune]string{}
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		var b strings.Builder
		for _, r := range line {
			s, ok := known[r]
			if !ok {
				s = string(r)
				_, err := e.NewEncoder().String(s)
				if err != nil && language == "vi" {
					s = input.TonesApart(s)
					_, err = e.NewEncoder().String(s)
				}
				if err != nil {
					if s = signs.Replace(s); s == string(r) {
						s = "?"
					}
				}
				known[r] = s
			}
			b.WriteString(s)
		}
		line, err := e.NewEncoder().String(b.String())
		if err != nil {
			log.Fatal(err)
		}
		lines = append(lines, []byte(line))
	}
	return lines
}

// try detects the encoding of pieces of some lines, from random ones on, which have bytes beyond ASCII.
func try(lines [][]byte, size, pieces int, of string, verbose bool) (n [3]int) {
	random := rand.New(rand.NewPCG(1, uint64(size)))
	name := strings.Fields(of)[1]
	right, err := htmlindex.Get(name)
	if err != nil {
		log.Fatal(err)
	}
	for range pieces {
		var piece []byte
		for at := random.IntN(len(lines)); len(piece) < size; at++ {
			piece = append(piece, lines[at%len(lines)]...)
		}
		isEscaped := strings.Contains(string(piece), "\x1b")
		if utf8.Valid(piece) && !isEscaped {
			continue // nothing tells its encoding
		}
		want, err := right.NewDecoder().Bytes(piece)
		if err != nil {
			log.Fatal(err)
		}
		n[verdict(piece, string(want), of, verbose)]++
	}
	return n
}

// verdict returns 0 if a piece is read as it should be, 1 if nobody can tell, and 2 if it is read wrong.
func verdict(piece []byte, want, of string, verbose bool) int {
	e, isSure := input.Detect(piece)
	got, name := "", "UTF-8"
	if e != nil {
		var err error
		if got, err = e.Text(piece); err != nil {
			log.Fatal(err)
		}
		name = e.Name
	}
	isRight := fold(got) == fold(want)
	if verbose && !(isSure && isRight) {
		fmt.Printf("\n%s: sure %v, %s reads %.120q instead of %.120q", of, isSure, name, differs(got, want), differs(want, got))
	}
	switch {
	case !isSure:
		return 1
	case isRight:
		return 0
	}
	return 2
}

// fold returns a text in which the letters of Romanian with a cedilla and with a comma below are one.
func fold(text string) string {
	return strings.NewReplacer("ş", "ș", "ţ", "ț", "Ş", "Ș", "Ţ", "Ț").Replace(text)
}

// differs returns a text from a little before the place where it differs from another one.
func differs(a, b string) string {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	return strings.ToValidUTF8(a[max(0, i-30):], "")
}
