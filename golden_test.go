package neardup

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/internal/kernel"
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
	add("masked", Fingerprinter{Tokenizer: NGrams{3}, Normalizer: Normalizer{Form: FormNFKC, Fold: true, URLs: TreatmentMask, Emails: TreatmentRemove, Dates: TreatmentMask, Numbers: TreatmentMask, Space: true}})
	// Weights by the statistics of the documents themselves.
	corpora := corpusTexts(t, "en", "zh", "more")
	idf := func(tok Tokenizer) IDF {
		b := DocumentFrequenciesBuilder{Fingerprinter: Fingerprinter{Tokenizer: tok}}
		for _, text := range corpora {
			b.Add(Text(text))
		}
		return IDF{Frequencies: b.Build()}
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

// TestTiers compares what the library computes with the kernels of every tier that this machine has:
// fingerprints, signatures, searches and joins.
func TestTiers(t *testing.T) {
	var want string
	kernel.EachTier(func(tier kernel.Tier) {
		got := digest(t)
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("%v gives %s, not %s", tier, got, want)
		}
	})
}

// digest returns a hash of many results.
func digest(t *testing.T) string {
	rnd := rand.New(rand.NewPCG(9, 9))
	h := fnv.New64a()
	docs := corpus(t, "en")[:30]
	docs = append(docs, corpus(t, "zh")[:20]...)
	weighed := Fingerprinter{Weight: LogCount}
	for i, d := range docs {
		text := d.Text
		fmt.Fprintln(h, Sum64(text), weighed.Sum64(Text(text)), weighed.Sum128(Text(text)))
		var set []uint64
		for range i % 40 {
			set = append(set, rnd.Uint64())
		}
		a, b := MinHash{}.Sign(set), (&Fingerprinter{}).Sign(Text(text), MinHash{Values: 100})
		fmt.Fprintln(h, a, b, a.Jaccard(MinHash{}.Sign(set[:len(set)/2])))
	}
	fps := make([]Fingerprint64, 30_000)
	wide := make([]Fingerprint128, 3_000)
	for i := range fps {
		fps[i] = Fingerprint64(rnd.Uint64())
		if i%3 > 0 {
			fps[i] = flip(fps[i-1], rnd.IntN(6), rnd)
		}
	}
	for i := range wide {
		wide[i] = Fingerprint128{Hi: uint64(fps[i]), Lo: uint64(fps[i/2])}
	}
	for p := range Pairs(t.Context(), fps, 3) {
		fmt.Fprintln(h, p)
	}
	for p := range Pairs(t.Context(), wide, 6) {
		fmt.Fprintln(h, p)
	}
	ix := must(NewIndex[int, Fingerprint64](5, IndexOptions{}))
	for i, fp := range fps[:5000] {
		ix.Add(i, fp)
	}
	for _, fp := range fps[4000:7000] {
		for m, err := range ix.Search(bg, fp) {
			fmt.Fprintln(h, m, err)
		}
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// BenchmarkTiers measures whole operations with the kernels of every tier that this machine has.
func BenchmarkTiers(b *testing.B) {
	rnd := rand.New(rand.NewPCG(5, 5))
	fps := make([]Fingerprint64, 1_000_000)
	for i := range fps {
		fps[i] = Fingerprint64(rnd.Uint64())
	}
	ix := must(NewIndex[int, Fingerprint64](3, IndexOptions{}))
	if err := ix.AddAll(b.Context(), slices.All(fps)); err != nil {
		b.Fatal(err)
	}
	hashes, weights := make([]uint64, 4096), make([]int64, 4096)
	for i := range hashes {
		hashes[i], weights[i] = rnd.Uint64(), rnd.Int64N(1<<40)
	}
	x, y := MinHash{}.Sign(hashes[:500]), MinHash{}.Sign(hashes[250:750])
	var few Signature
	next := windows(b, "en", 10<<10)
	text := Fingerprinter{Weight: LogCount}
	for _, w := range []struct {
		name string
		work func(i int)
	}{
		{"search=1000000", func(i int) {
			for range ix.Search(bg, fps[i*7919%len(fps)]^5) {
			}
		}},
		{"pairs=1000000", func(int) {
			for range Pairs(b.Context(), fps, 3) {
			}
		}},
		{"units=4096", func(int) {
			var a Accumulator64
			a.AddAll(hashes)
		}},
		{"weighted=4096", func(int) {
			var a Accumulator64
			a.AddWeighted(hashes, weights)
		}},
		{"weightedtext=10240", func(int) { text.Sum64(Text(next())) }},
		{"text=10240", func(int) { Sum64(next()) }},
		{"sign=10", func(i int) { few = MinHash{}.AppendSign(few[:0], hashes[i%4000:][:10]) }},
		{"permutations=10", func(i int) { few = MinHash{Permutations: true}.AppendSign(few[:0], hashes[i%4000:][:10]) }},
		{"permutations=500", func(i int) { MinHash{Permutations: true}.Sign(hashes[i%3000:][:500]) }},
		{"jaccard=128", func(int) { x.Jaccard(y) }},
	} {
		kernel.EachTier(func(tier kernel.Tier) {
			b.Run(w.name+"/tier="+tier.String(), func(b *testing.B) {
				for i := 0; b.Loop(); i++ {
					w.work(i)
				}
			})
		})
	}
}

// TestScripts cuts real sentences in many scripts and compares with the tokens of
// testdata/scripts.tsv.
func TestScripts(t *testing.T) {
	const file = "testdata/scripts.tsv"
	tokenizers := map[string]Tokenizer{"words": Words{}, "ngrams2": NGrams{2}, "ngrams3": NGrams{3}}
	if *full {
		tokenizers["gse"] = loadSegmenter(t)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var updated strings.Builder
	checked := 0
	for line := range strings.Lines(string(data)) {
		col := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		tok, ok := tokenizers[col[1]]
		if !ok {
			updated.WriteString(line)
			continue // the header, or a dictionary in a short test
		}
		got := texts(tok, col[2])
		updated.WriteString(strings.Join(append(col[:3], got), "\t") + "\n")
		if !*update && got != col[3] {
			t.Errorf("%s, %s of %q:\n%s, want\n%s", col[0], col[1], col[2], got, col[3])
		}
		checked++
	}
	if checked < 40 {
		t.Errorf("only %d lines", checked)
	}
	if *update {
		if err := os.WriteFile(file, []byte(updated.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
