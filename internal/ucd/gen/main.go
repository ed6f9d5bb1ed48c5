// Command gen writes the tables of package ucd from the files of the Unicode
// Character Database beside it.
//
//	go generate ./internal/ucd
package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"go/format"
	"io"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const version = "15.0.0"

// As in package ucd, which has to be written before it can be imported.
const (
	separator = iota
	letter
	single
	mark
	ignored

	folds     = 1 << 3
	stable    = 1 << 4
	blockBits = 7
)

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
}

func read() *database {
	db := &database{tag: map[rune]string{}, mapping: map[rune][]rune{}, excluded: map[rune]bool{}, folded: map[rune]rune{},
		radical: map[rune]rune{}, ignorable: map[rune]bool{}, emoji: map[rune]bool{}, pictorial: map[rune]bool{}}
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
	return db
}

// fold is what a tokenizer makes of a character: the same one in another width,
// font or code, and in lower case.
func (db *database) fold(r rune) rune {
	if strings.HasPrefix(db.category[r], "M") {
		return r // U+0345 would become a letter
	}
	for range 8 {
		next, m := r, db.mapping[r]
		tag := db.tag[r]
		if len(m) == 1 && (tag == "" || tag == "wide" || tag == "narrow" || tag == "font") {
			next = m[0]
		}
		if to, ok := db.radical[r]; ok && r <= 0x2FDF { // others are strokes and bopomofo
			next = to
		}
		if f, ok := db.folded[next]; ok {
			next = f
		}
		if next == r {
			return r
		}
		r = next
	}
	log.Fatalf("U+%04X: folding does not end", r)
	return 0
}

// spaceless are the blocks of scripts that put no spaces between words.
var spaceless = [][2]rune{
	{0x0E00, 0x0EFF},   // Thai, Lao
	{0x1000, 0x109F},   // Burmese
	{0x1780, 0x17FF},   // Khmer
	{0x1950, 0x19DF},   // Tai Le, New Tai Lue
	{0x1A00, 0x1AAF},   // Buginese, Tai Tham
	{0x1B00, 0x1B7F},   // Balinese
	{0x1BC0, 0x1BFF},   // Batak
	{0x2E80, 0x312F},   // radicals, kana, bopomofo
	{0x31A0, 0x31FF},   // bopomofo, kana
	{0x3400, 0x4DBF},   // ideographs
	{0x4E00, 0xA4CF},   // ideographs, Yi
	{0xA930, 0xA95F},   // Rejang
	{0xA980, 0xA9FF},   // Javanese, Burmese
	{0xAA60, 0xAADF},   // Burmese, Tai Viet
	{0xF900, 0xFAFF},   // compatibility ideographs
	{0xFF66, 0xFF9F},   // halfwidth kana
	{0x16FE0, 0x18D8F}, // Tangut, Khitan
	{0x1AFF0, 0x1B2FF}, // kana, Nushu
}

func (db *database) class(r rune) uint8 {
	r = db.fold(r)
	cat := db.category[r]
	switch {
	case db.ignorable[r], cat == "Cf", r == 'ـ', r == 0x20E3, r >= 0x1F3FB && r <= 0x1F3FF: // tatweel, keycap, skin tones
		return ignored
	case r == 0x055B, r == 0x055C, r == 0x055E: // Armenian marks stand inside words
		return ignored
	case strings.HasPrefix(cat, "M"):
		return mark
	case r >= 0x20000 && r <= 0x3FFFD: // all that is and will be there is ideographs
		return single
	case r == 0x02BB, r == 0x02BC, r == 0x3030, r == 0x303D: // apostrophes as their likes, wavy marks
		return separator
	case db.pictorial[r], db.emoji[r] && r >= 0x2600, r >= 0x2E80 && r <= 0x2FD5 && cat == "So": // radicals
		return single
	case cat == "No" && (r >= 0x2460 && r <= 0x24FF || r >= 0x2776 && r <= 0x2793 || r >= 0x3200 && r <= 0x32FF): // ① (1) ㈠
		return single
	case r >= 0x2801 && r <= 0x28FF: // Braille
		return letter
	case !strings.HasPrefix(cat, "L") && !strings.HasPrefix(cat, "N"):
		return separator
	}
	for _, b := range spaceless {
		if r >= b[0] && r <= b[1] {
			return single
		}
	}
	return letter
}

// decompose returns the full decomposition of r, applying the mappings that use
// accepts.
func (db *database) decompose(r rune, use func(tag string) bool) []rune {
	m, ok := db.mapping[r]
	if !ok || !use(db.tag[r]) {
		return []rune{r}
	}
	var out []rune
	for _, c := range m {
		out = append(out, db.decompose(c, use)...)
	}
	return out
}

func main() {
	db := read()
	var b bytes.Buffer
	fmt.Fprintf(&b, "// Code generated by internal/ucd/gen; DO NOT EDIT.\n\npackage ucd\n\n// Version is the version of Unicode.\nconst Version = %q\n", version)

	// Compositions, and the characters that may compose with what is before.
	var pairs []pair
	second := map[rune]bool{}
	for r, m := range db.mapping {
		if db.tag[r] == "" && len(m) == 2 && !db.excluded[r] && db.ccc[r] == 0 && db.ccc[m[0]] == 0 {
			pairs = append(pairs, pair{m[0], m[1], r})
			second[m[1]] = true
		}
	}
	slices.SortFunc(pairs, func(p, q pair) int {
		if p.a != q.a {
			return int(p.a - q.a)
		}
		return int(p.b - q.b)
	})
	for r := rune(0x1161); r <= 0x11C2; r++ { // Hangul vowels and finals
		second[r] = true
	}

	// The properties, in blocks.
	forms := [3]func(string) bool{
		func(tag string) bool { return tag == "" },
		func(tag string) bool { return tag == "" || tag == "wide" || tag == "narrow" },
		func(string) bool { return true },
	}
	var folding []rune
	decomposed := map[rune][3][]rune{}
	props := make([]uint8, maxRune+1)
	for r := range rune(maxRune + 1) {
		p := db.class(r)
		if db.fold(r) != r {
			p |= folds
			folding = append(folding, r)
		}
		var d [3][]rune
		changes := false
		for i, use := range forms {
			d[i] = db.decompose(r, use)
			changes = changes || !slices.Equal(d[i], []rune{r})
		}
		if changes {
			decomposed[r] = d
		}
		// A character is stable if it stays as it is in every form, whatever
		// stands before it. Composed ones that decompose and compose again are.
		recomposes := changes && slices.Equal(d[2], d[0]) && len(d[0]) > 1 && recompose(d[0], pairs) == r
		if db.ccc[r] == 0 && !second[r] && (!changes || recomposes) {
			p |= stable
		}
		props[r] = p
	}
	const size = 1 << blockBits
	blocks := map[string]int{}
	var index, data []byte
	for at := 0; at <= maxRune; at += size {
		block := string(props[at : at+size])
		n, ok := blocks[block]
		if !ok {
			n = len(blocks)
			blocks[block] = n
			data = append(data, block...)
		}
		if n > 255 {
			log.Fatal("more than 256 blocks")
		}
		index = append(index, byte(n))
	}
	literal(&b, "index", string(index))
	literal(&b, "blocks", string(data))

	b.WriteString("// What folding changes, sorted, and into what.\nvar foldFrom = [...]rune{")
	list(&b, folding)
	b.WriteString("}\n\nvar foldTo = [...]rune{")
	for i, r := range folding {
		folding[i] = db.fold(r)
	}
	list(&b, folding)
	b.WriteString("}\n\n")

	// Decompositions.
	var from []rune
	for r := range decomposed {
		from = append(from, r)
	}
	slices.Sort(from)
	var text strings.Builder
	seen := map[string]int{}
	at := func(rs []rune) rune {
		s := string(rs)
		n, ok := seen[s]
		if !ok {
			n = text.Len()
			seen[s] = n
			text.WriteString(s)
		}
		if len(s) > 63 || n >= 1<<20 {
			log.Fatal("decomposition does not fit")
		}
		return rune(n<<6 | len(s))
	}
	b.WriteString("// What decomposes, sorted, and for each form where its decomposition is in\n// decompositions, position<<6 | length.\nvar decomposeFrom = [...]rune{")
	list(&b, from)
	b.WriteString("}\n\nvar decomposeTo = [...][3]uint32{")
	for i, r := range from {
		if i%6 == 0 {
			b.WriteString("\n\t")
		}
		d := decomposed[r]
		fmt.Fprintf(&b, "{%#x, %#x, %#x}, ", at(d[0]), at(d[1]), at(d[2]))
	}
	b.WriteString("\n}\n\n")
	literal(&b, "decompositions", text.String())

	b.WriteString("// What composes, first<<32 | second, sorted, and into what.\nvar composeFrom = [...]uint64{")
	for i, p := range pairs {
		if i%6 == 0 {
			b.WriteString("\n\t")
		}
		fmt.Fprintf(&b, "%#x, ", uint64(p.a)<<32|uint64(p.b))
	}
	b.WriteString("\n}\n\nvar composeTo = [...]rune{")
	var to []rune
	for _, p := range pairs {
		to = append(to, p.to)
	}
	list(&b, to)
	b.WriteString("}\n\n")

	// Combining classes, in runs.
	b.WriteString("// Runs of one combining class: first, last, class.\nvar combining = [...][3]rune{")
	for r := rune(0); r <= maxRune; r++ {
		if db.ccc[r] == 0 {
			continue
		}
		last := r
		for db.ccc[last+1] == db.ccc[r] {
			last++
		}
		fmt.Fprintf(&b, "\n\t{%#x, %#x, %d},", r, last, db.ccc[r])
		r = last
	}
	b.WriteString("\n}\n")

	source, err := format.Source(b.Bytes())
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(os.Args[1], source, 0o644); err != nil {
		log.Fatal(err)
	}
}

// A pair of characters composes to one.
type pair struct{ a, b, to rune }

// recompose composes a decomposition of starters and marks in order from left to
// right, or returns 0.
func recompose(rs []rune, pairs []pair) rune {
	r := rs[0]
next:
	for _, c := range rs[1:] {
		for _, p := range pairs {
			if p.a == r && p.b == c {
				r = p.to
				continue next
			}
		}
		return 0
	}
	return r
}

func literal(b *bytes.Buffer, name, value string) {
	fmt.Fprintf(b, "const %s = \"\" +\n", name)
	for len(value) > 64 {
		fmt.Fprintf(b, "\t%+q +\n", value[:64])
		value = value[64:]
	}
	fmt.Fprintf(b, "\t%+q\n\n", value)
}

func list(b *bytes.Buffer, rs []rune) {
	for i, r := range rs {
		if i%12 == 0 {
			b.WriteString("\n\t")
		}
		fmt.Fprintf(b, "%#x, ", r)
	}
	b.WriteByte('\n')
}
