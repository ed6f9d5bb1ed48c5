package neardup

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

type document struct{ ID, Text string }

// corpus reads a file of testdata.
func corpus(t testing.TB, name string) []document {
	t.Helper()
	f, err := os.Open("testdata/" + name + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var docs []document
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var d document
		if err := json.Unmarshal(lines.Bytes(), &d); err != nil {
			t.Fatal(err)
		}
		docs = append(docs, d)
	}
	if err := lines.Err(); err != nil || len(docs) == 0 {
		t.Fatal(len(docs), err)
	}
	return docs
}

// TestGolden compares the fingerprints of real texts with those stored, which
// must be the same on every platform for ever. The 386, arm64 and s390x
// (big-endian) runs of CI read the same file.
func TestGolden(t *testing.T) {
	const file = "testdata/golden.tsv"
	tokenizers := map[string]Tokenizer{
		"default": nil, "words": Words{}, "words3": Shingles{N: 3},
		"chars2": NGrams{2}, "chars3": NGrams{3}, "chars5": NGrams{5},
	}
	if !testing.Short() {
		tokenizers["gse"] = loadSegmenter(t)
		tokenizers["gse2"] = Shingles{Of: loadSegmenter(t)}
	}
	if *update {
		var b strings.Builder
		b.WriteString("# tokenizer\tdocument\t64 bits\t128 bits\n")
		for _, name := range []string{"default", "words", "words3", "chars2", "chars3", "chars5", "gse", "gse2"} {
			f := Fingerprinter{Tokenizer: tokenizers[name]}
			for _, lang := range []string{"en", "zh"} {
				for _, d := range corpus(t, lang) {
					fmt.Fprintf(&b, "%s\t%s\t%v\t%v\n", name, d.ID, f.Sum64(d.Text), f.Sum128(d.Text))
				}
			}
		}
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := map[string]string{}
	for _, lang := range []string{"en", "zh"} {
		for _, d := range corpus(t, lang) {
			text[d.ID] = d.Text
		}
	}
	checked := 0
	for line := range strings.Lines(string(golden)) {
		col := strings.Split(strings.TrimSpace(line), "\t")
		tok, ok := tokenizers[col[0]]
		if !ok {
			continue // a comment, or a dictionary in a short test
		}
		f := Fingerprinter{Tokenizer: tok}
		if got := f.Sum64(text[col[1]]).String(); got != col[2] {
			t.Errorf("%s of %s: %s, want %s", col[0], col[1], got, col[2])
		}
		if got := f.Sum128(text[col[1]]).String(); got != col[3] {
			t.Errorf("%s of %s: %s, want %s", col[0], col[1], got, col[3])
		}
		checked++
	}
	if want := len(tokenizers) * len(text); checked != want {
		t.Errorf("%d golden fingerprints checked, want %d", checked, want)
	}
}
