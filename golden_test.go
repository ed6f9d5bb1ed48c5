package neardup

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/neardup/neardup/wordlist"
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

// perToken is the weight that gives each occurrence what f says.
func perToken(f func(Token) float64) Weight { return Product{Count, tokenWeight(f)} }

// goldenPipelines are the settings whose fingerprints are stored, in their order.
func goldenPipelines(t *testing.T) (names []string, of map[string]*Fingerprinter) {
	of = map[string]*Fingerprinter{}
	add := func(name string, f Fingerprinter) {
		names = append(names, name)
		of[name] = &f
	}
	seeded, err := SeededHash([]byte("a secret that is none"))
	if err != nil {
		t.Fatal(err)
	}
	add("default", Fingerprinter{})
	add("words", Fingerprinter{Tokenizer: Words{}})
	add("words3", Fingerprinter{Tokenizer: Shingles{N: 3}})
	add("chars2", Fingerprinter{Tokenizer: NGrams{2}})
	add("chars3", Fingerprinter{Tokenizer: NGrams{3}})
	add("chars5", Fingerprinter{Tokenizer: NGrams{5}})
	add("weighted", Fingerprinter{Tokenizer: Words{}, Weight: perToken(func(t Token) float64 { return 1 / float64(len(t.Text)) }), TiesOne: true})
	add("seeded", Fingerprinter{Hash: seeded})
	add("html", Fingerprinter{Normalizer: Normalizer{HTML: true}})
	add("masked", Fingerprinter{Tokenizer: NGrams{3}, Normalizer: Normalizer{Form: NFKC, Fold: true, URLs: Mask, Emails: Remove, Dates: Mask, Numbers: Mask, Space: true}})
	// Weights by the statistics of the documents themselves.
	corpora := corpusTexts(t, "en", "zh", "more")
	idf := func(tok Tokenizer) IDF {
		b := StatisticsBuilder{Fingerprinter: Fingerprinter{Tokenizer: tok}}
		for _, text := range corpora {
			b.Add(Text(text))
		}
		return IDF{Statistics: b.Build()}
	}
	words, pairs := idf(Words{}), idf(nil)
	pairs.Smooth = true
	markers := NewLexicon(append(wordlist.ChineseMarkers(), wordlist.EnglishMarkers()...)...)
	s004 := func(idf IDF) Weight {
		return Product{Count, idf, partOfSpeech{}, weightSum{Constant(1), relativeLength{}}, Markers{Lexicon: markers, Sentence: true}, titleWords{}}
	}
	add("logidf", Fingerprinter{Weight: Product{LogCount, pairs}})
	add("s002", Fingerprinter{Tokenizer: Words{}, Weight: Product{Count, words, weightSum{Constant(1), termLength{}}}})
	add("s004", Fingerprinter{Tokenizer: Words{}, Weight: s004(words)})
	if *full {
		add("gse004", Fingerprinter{Tokenizer: loadSegmenter(t), Weight: s004(idf(loadSegmenter(t)))})
		add("gse", Fingerprinter{Tokenizer: loadSegmenter(t)})
		add("gse2", Fingerprinter{Tokenizer: Shingles{Of: loadSegmenter(t)}})
	}
	return names, of
}

// TestGolden compares the fingerprints of real texts with those stored, which
// must be the same on every platform for ever, and so must the versions. The 386,
// arm64 and s390x (big-endian) runs of CI read the same file.
func TestGolden(t *testing.T) {
	t.Parallel()
	const file = "testdata/golden.tsv"
	names, pipelines := goldenPipelines(t)
	var docs []document
	for _, name := range []string{"en", "zh", "more"} {
		docs = append(docs, corpus(t, name)...)
	}
	rows := make(map[string]string)
	var all strings.Builder
	all.WriteString("# pipeline\tdocument\t64 bits\t128 bits\n")
	for _, name := range names {
		f := pipelines[name]
		f.Custom = "golden"
		version, err := f.Version()
		if err != nil {
			t.Fatal(err)
		}
		row := func(key, value string) {
			rows[key] = value
			all.WriteString(key + "\t" + value + "\n")
		}
		row(name+"\tversion", version)
		for _, d := range docs {
			row(name+"\t"+d.ID, fmt.Sprintf("%v\t%v", f.Sum64(Text(d.Text)), f.Sum128(Text(d.Text))))
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(all.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for line := range strings.Lines(string(golden)) {
		col := strings.SplitN(strings.TrimSpace(line), "\t", 3)
		if pipelines[col[0]] == nil {
			continue // a comment, or a dictionary in a short test
		}
		key := col[0] + "\t" + col[1]
		if got, ok := rows[key]; !ok || got != col[2] {
			t.Errorf("%s: %s, want %s", key, got, col[2])
		}
		checked++
	}
	if checked != len(rows) {
		t.Errorf("%d golden rows checked, want %d", checked, len(rows))
	}
}
