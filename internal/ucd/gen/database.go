package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"embed"
	"io"
	"log"
	"path/filepath"
	"strconv"
	"strings"
)

const version = "15.0.0"

//go:embed 15.0.0
var files embed.FS

// open returns a file of the database, unpacked.
func open(name string) io.Reader {
	data, err := files.ReadFile(filepath.Join(version, name))
	if err != nil {
		log.Fatal(err)
	}
	if !strings.HasSuffix(name, ".gz") {
		return bytes.NewReader(data)
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		log.Fatal(err)
	}
	return r
}

// parse calls f with the fields of each line of a file.
func parse(name string, f func(field []string)) {
	lines := bufio.NewScanner(open(name))
	for lines.Scan() {
		line, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Split(line, ";")
		for i := range fields {
			fields[i] = strings.TrimSpace(fields[i])
		}
		if fields[0] != "" {
			f(fields)
		}
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
}

func hex(s string) rune {
	x, err := strconv.ParseUint(s, 16, 32)
	if err != nil {
		log.Fatal(err)
	}
	return rune(x)
}

func runes(s string) (rs []rune) {
	for _, f := range strings.Fields(s) {
		rs = append(rs, hex(f))
	}
	return rs
}

// each calls f for every code point of "XXXX" or "XXXX..YYYY".
func each(field string, f func(rune)) {
	first, last, ok := strings.Cut(field, "..")
	if !ok {
		last = first
	}
	for r := hex(first); r <= hex(last); r++ {
		f(r)
	}
}

const maxRune = 0x10FFFF

// database is what is read of the files.
type database struct {
	category  [maxRune + 1]string
	ccc       [maxRune + 1]uint8
	tag       map[rune]string // of the decomposition: "" is canonical
	mapping   map[rune][]rune // its decomposition, one step
	excluded  map[rune]bool   // from composition
	folded    map[rune]rune   // simple case folding
	radical   map[rune]rune   // the ideograph it stands for
	ignorable map[rune]bool
	emoji     map[rune]bool // Emoji
	pictorial map[rune]bool // Emoji_Presentation
	simple    map[rune]rune // the simplified form of a Chinese character
}

func read() *database {
	db := &database{tag: map[rune]string{}, mapping: map[rune][]rune{}, excluded: map[rune]bool{}, folded: map[rune]rune{},
		radical: map[rune]rune{}, ignorable: map[rune]bool{}, emoji: map[rune]bool{}, pictorial: map[rune]bool{}, simple: map[rune]rune{}}
	first := rune(0)
	parse("UnicodeData.txt.gz", func(f []string) {
		r := hex(f[0])
		if strings.HasSuffix(f[1], ", First>") {
			first = r
		}
		from := r
		if strings.HasSuffix(f[1], ", Last>") {
			from = first
		}
		for c := from; c <= r; c++ {
			db.category[c] = f[2]
		}
		ccc, err := strconv.ParseUint(f[3], 10, 8)
		if err != nil {
			log.Fatal(err)
		}
		db.ccc[r] = uint8(ccc)
		if f[5] != "" {
			tag, rest, ok := strings.Cut(f[5], "> ")
			if !ok {
				tag, rest = "", f[5]
			}
			db.tag[r], db.mapping[r] = strings.TrimPrefix(tag, "<"), runes(rest)
		}
	})
	parse("CompositionExclusions.txt.gz", func(f []string) { each(f[0], func(r rune) { db.excluded[r] = true }) })
	parse("CaseFolding.txt.gz", func(f []string) {
		if f[1] == "C" || f[1] == "S" {
			db.folded[hex(f[0])] = hex(f[2])
		}
	})
	db.folded['İ'] = 'i' // has no simple folding; the Turkic one is better than none
	parse("EquivalentUnifiedIdeograph.txt.gz", func(f []string) { each(f[0], func(r rune) { db.radical[r] = hex(f[1]) }) })
	parse("DefaultIgnorable.txt", func(f []string) { each(f[0], func(r rune) { db.ignorable[r] = true }) })
	parse("emoji-data.txt.gz", func(f []string) {
		each(f[0], func(r rune) {
			switch f[1] {
			case "Emoji":
				db.emoji[r] = true
			case "Emoji_Presentation":
				db.pictorial[r] = true
			}
		})
	})
	parse("SimplifiedVariants.txt.gz", func(f []string) {
		r := hex(strings.TrimPrefix(f[0], "U+"))
		for _, to := range strings.Fields(f[1]) { // the first that is another one
			if s := hex(strings.TrimPrefix(to, "U+")); s != r && s <= 0xFFFF && r <= 0xFFFF {
				db.simple[r] = s
				break
			}
		}
	})
	return db
}
