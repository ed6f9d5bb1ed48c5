package neardup

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"iter"
	"math"
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

// TestPinned holds more of what this package returns to the last bit, as digests: what becomes of texts by every tokenizer and weight,
// which settings are accepted, what indexes find, and how decoders take damage.
func TestPinned(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		lines  func(t *testing.T) []string
		digest uint64
	}{
		{"features", pinnedFeatures, 0x281077840f214d2f},
		{"normalizers", pinnedNormalizers, 0x3c17d6f87b698ea7},
		{"settings", pinnedSettings, 0x492206a9a464bfb2},
		{"indexes", pinnedIndexes, 0x7d9de5e654cb03fe},
		{"damage", pinnedDamage, 0x9d4a4fa9f22b20fb},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := HashFeature(strings.Join(c.lines(t), "\n")); got != c.digest {
				t.Errorf("the digest is %#x, not %#x", got, c.digest)
			}
		})
	}
}

// pieces returns parts of the texts of testdata, of all lengths.
func pieces(t *testing.T, most int) (texts []string) {
	for i, text := range corpusTexts(t, "en", "zh", "more") {
		from := i * 37 % (len(text)/2 + 1)
		texts = append(texts, text[from:min(len(text), from+1<<(i%10+2))])
	}
	return texts[:min(most, len(texts))]
}

func pinnedFeatures(t *testing.T) (lines []string) {
	names, pipelines := goldenPipelines(t)
	record := Record{"title": "Report of 2026", "body": "Two roads are closed. 两条路封闭。", "phone": "+86 10 1234-5678", "date": "21.11.2026"}
	for _, name := range names {
		f := pipelines[name]
		var docs []Document
		if f.Weight == nil { // statistics are those of texts
			f.Fields = []Field{{Name: "title", Split: NGrams{2}}, {Name: "body", Large: true}, {Name: "phone", Form: PhoneValue, Country: "86", Named: true}, {Name: "date", Form: DateValue, Weight: 0.5}}
			docs = append(docs, record)
		}
		for _, text := range pieces(t, 50) {
			docs = append(docs, Text(text))
		}
		var last Vector
		var lastSet Set
		for _, doc := range docs {
			for feature, weight := range f.Features(doc) {
				lines = append(lines, fmt.Sprintf("%+v %x %d", feature, weight, feature.Length()))
			}
			v, s := f.Vector(doc), f.Set(doc)
			lines = append(lines, fmt.Sprintf("%x %x %x %x %x", v, s, v.Cosine(last), v.Dot(last), []float64{v.Norm(), s.Jaccard(lastSet), s.Dice(lastSet), s.Containment(lastSet)}))
			last, lastSet = v, s
			for _, m := range []MinHash{{}, {Values: 16}, {Values: 100, Permutations: true}, {Values: 300}, {Values: 1000}} {
				lines = append(lines, fmt.Sprintf("%x", f.Sign(doc, m)))
			}
		}
		version, err := f.Version()
		lines = append(lines, version, fmt.Sprint(err == nil))
	}
	return lines
}

func pinnedNormalizers(t *testing.T) (lines []string) {
	texts := append(pieces(t, 120), "Write to a.b@example.org by 21 Nov 2026, 08:52 or see https://example.org/a?b=1,024.5 (www.example.org).", "2026年11月21日 １２３ ＡＢＣ  mp3 1,024.5 \t x", "後漢書 ي ك كتاب раураl paypаl", "<p>a &amp; b<script>x</script><li>c", "\xff\xfe e\u0301 ﬁ ™\r\n\r\n b \n")
	for _, n := range []Normalizer{
		{}, {HTML: true}, {Form: FormNFC}, {Form: FormNFKC}, {Form: FormWidth}, {Simplified: true}, {Arabic: true}, {Confusables: true}, {Fold: true}, {Space: true},
		{URLs: TreatmentMask}, {URLs: TreatmentRemove}, {Emails: TreatmentMask}, {Dates: TreatmentMask}, {Dates: TreatmentRemove}, {Numbers: TreatmentMask}, {Numbers: TreatmentRemove},
		{HTML: true, Form: FormNFKC, Simplified: true, Arabic: true, Confusables: true, Fold: true, URLs: TreatmentMask, Emails: TreatmentMask, Dates: TreatmentMask, Numbers: TreatmentMask, Space: true},
	} {
		for _, text := range texts {
			lines = append(lines, n.Normalize(text))
		}
	}
	return lines
}

func pinnedSettings(*testing.T) (lines []string) {
	say := func(err error, of ...any) { lines = append(lines, fmt.Sprint(err == nil, of)) }
	for distance := -1; distance <= 130; distance++ {
		for blocks := -1; blocks <= 130; blocks += 1 + max(0, blocks)/20 {
			_, err := NewIndex[int, Fingerprint64](distance, IndexOptions{Blocks: blocks})
			_, wide := NewIndex[int, Fingerprint128](distance, IndexOptions{Blocks: blocks})
			say(err, wide == nil)
		}
	}
	for memory := -1; memory < 300; memory++ {
		ix, err := NewIndex[int, Fingerprint64](3, IndexOptions{Memory: memory})
		if say(err); err == nil {
			say(nil, ix.tables)
		}
	}
	for _, values := range []int{-1, 0, 1, 15, 16, 17, 128, 4095, 4096, 4097} {
		for _, similarity := range []float64{-0.1, 0, 0.01, 0.1, 0.3, 0.5, 0.8, 0.99, 1, 1.01, math.NaN()} {
			for _, bits := range []int{-1, 0, 1, 2, 3, 8, 31, 32, 33} {
				ix, err := NewSignatureIndex[int](similarity, SignatureIndexOptions{Values: values, Bits: bits})
				if say(err); err == nil {
					say(nil, ix.Banding(), ix.Banding().Probability(similarity), ix.Banding().Probability(0.4))
				}
			}
			for _, by := range []Banding{{1, 1}, {0, 1}, {1, 0}, {-1, 2}, {16, 8}, {16, 9}, {4096, 1}, {5000, 1}} {
				_, err := NewSignatureIndex[int](similarity, SignatureIndexOptions{Values: values, Banding: by})
				say(err)
			}
			_, err := NewVectorIndex[int](similarity, VectorIndexOptions{})
			say(err)
		}
		_, err := (MinHash{Values: values}).Version(&Fingerprinter{})
		say(err)
	}
	var tokenizers []Tokenizer
	for n := -1; n < 70; n++ {
		tokenizers = append(tokenizers, NGrams{n}, Shingles{N: n}, Shingles{N: n, Of: NGrams{n}})
	}
	for _, tok := range append(tokenizers, (*Segmenter)(nil), &Segmenter{}) {
		f := Fingerprinter{Tokenizer: tok}
		version, err := f.Version()
		say(err, version)
	}
	for _, weight := range []Weight{Constant(-1), Constant(0), Constant(0.5), Constant(math.Inf(1)), Constant(math.NaN()), Count, LogCount, TermFrequency(99), Product{}, Product{Count, nil}, IDF{}, Markers{}} {
		f := Fingerprinter{Weight: weight}
		version, err := f.Version()
		say(err, version)
	}
	for _, field := range []Field{{}, {Name: "a", Weight: -1}, {Name: "a", Weight: math.Inf(1)}, {Name: "a", Form: 99}, {Name: "a", Form: PhoneValue, Country: "x"}, {Name: "a", Country: "86"}, {Name: "a", Large: true, Form: DateValue}, {Name: "a", Split: NGrams{-1}}} {
		f := Fingerprinter{Fields: []Field{field}}
		version, err := f.Version()
		say(err, version)
		say(Record{"a": "1"}.Check(f.Fields))
	}
	return lines
}

func pinnedIndexes(t *testing.T) (lines []string) {
	rnd := rand.New(rand.NewPCG(1, 2))
	f := Fingerprinter{Tokenizer: Words{}}
	fingerprints, _ := NewIndex[int, Fingerprint64](9, IndexOptions{})
	wide, _ := NewIndex[int, Fingerprint128](12, IndexOptions{Blocks: 14})
	signatures, _ := NewSignatureIndex[int](0.5, SignatureIndexOptions{Bits: 8})
	vectors, _ := NewVectorIndex[int](0.6, VectorIndexOptions{})
	var fps []Fingerprint64
	var all []Vector
	for i, text := range pieces(t, 200) {
		words := strings.Fields(text)
		for range 3 {
			if len(words) > 2 {
				at := rnd.IntN(len(words))
				words = slices.Delete(words, at, at+1)
			}
			doc := Text(strings.Join(words, " "))
			fp, v := f.Sum64(doc), f.Vector(doc)
			fps, all = append(fps, fp), append(all, v)
			id := len(fps)
			if i%5 == 4 {
				id /= 2 // replaces one
			}
			must(0, errors.Join(fingerprints.Add(id, fp), wide.Add(id, f.Sum128(doc)), signatures.Add(id, f.Sign(doc, MinHash{})), vectors.Add(id, v)))
		}
	}
	say := func(x ...any) { lines = append(lines, fmt.Sprint(x...)) }
	for i := 0; i < len(fps); i += 7 {
		say(must(fingerprints.Nearest(t.Context(), fps[i], 5)), must(fingerprints.Exists(t.Context(), fps[i]^7)), must(vectors.Nearest(t.Context(), all[i], 4)))
		for m := range vectors.Search(t.Context(), all[i]) {
			say(m)
		}
	}
	for _, by := range []Linkage{CentreLinkage, CompleteLinkage, SingleLinkage} {
		say(must(fingerprints.Groups(t.Context(), by)), must(wide.Groups(t.Context(), by)), must(signatures.Groups(t.Context(), by)), must(vectors.Groups(t.Context(), by)))
	}
	for k := range 6 {
		say(must(Components(t.Context(), fps[:60], k)))
	}
	pairs := func(of iter.Seq2[Pair[int], error]) {
		var found []string
		for p, err := range of {
			found = append(found, fmt.Sprintf("%v %x %v", p, p.Similarity, err))
		}
		slices.Sort(found)
		say(found)
	}
	pairs(fingerprints.Pairs(t.Context()))
	pairs(wide.Pairs(t.Context()))
	pairs(signatures.Pairs(t.Context()))
	pairs(signatures.CandidatePairs(t.Context()))
	pairs(vectors.Pairs(t.Context()))
	pairs(VectorPairs(t.Context(), all, 0.3))
	pairs(PairsBetween(t.Context(), fps[:40], fps[20:90], 8))
	return lines
}

// pinnedDamage says how every decoder takes its own output with each byte changed, left out, or the last ones.
func pinnedDamage(t *testing.T) (lines []string) {
	f := Fingerprinter{Tokenizer: Words{}}
	b := DocumentFrequenciesBuilder{Fingerprinter: f}
	var common BoilerplateBuilder
	for _, text := range pieces(t, 12) {
		b.Add(Text(text))
		common.Add("the same line\n" + text)
	}
	var statistics, lines2, fingerprints bytes.Buffer
	must(b.Build().WriteTo(&statistics))
	must(common.Build(2).WriteTo(&lines2))
	err := WriteFingerprints(&fingerprints, "v", func(yield func(Entry[string, Fingerprint128], error) bool) {
		_ = yield(Entry[string, Fingerprint128]{ID: "a", Value: Fingerprint128{1, 2}}, nil) && yield(Entry[string, Fingerprint128]{ID: "bc", Value: Fingerprint128{3, 4}}, nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	signature := f.Sign(Text("one two three four five"), MinHash{Values: 16})
	for _, c := range []decoder{
		{"128 bits", must(Fingerprint128{1, 0xabcdef}.MarshalBinary()), func(b []byte) (any, error) { var fp Fingerprint128; err := fp.UnmarshalBinary(b); return fp, err }},
		{"128 bits as text", must(Fingerprint128{1, 0xabcdef}.MarshalText()), func(b []byte) (any, error) { var fp Fingerprint128; err := fp.UnmarshalText(b); return fp, err }},
		{"64 bits", must(Fingerprint64(0x0123456789abcdef).MarshalBinary()), func(b []byte) (any, error) { var fp Fingerprint64; err := fp.UnmarshalBinary(b); return fp, err }},
		{"64 bits as text", must(Fingerprint64(0x0123456789abcdef).MarshalText()), func(b []byte) (any, error) { var fp Fingerprint64; err := fp.UnmarshalText(b); return fp, err }},
		{"boilerplate", lines2.Bytes(), func(b []byte) (any, error) {
			var l Boilerplate
			n, err := l.ReadFrom(bytes.NewReader(b))
			return []int{int(n), l.Len()}, err
		}},
		{"fingerprints", fingerprints.Bytes(), func(b []byte) (x any, err error) {
			var all []any
			err = ReadFingerprints(bytes.NewReader(b), "v", func(id string, fp Fingerprint128) error {
				all = append(all, id, fp)
				return nil
			})
			return all, err
		}},
		{"kinds", must((SameWords | Identical).MarshalText()), func(b []byte) (any, error) { var k Kind; err := k.UnmarshalText(b); return k, err }},
		{"packed", must(signature.Pack(4).MarshalBinary()), func(b []byte) (any, error) { var s PackedSignature; err := s.UnmarshalBinary(b); return s, err }},
		{"packed as text", must(signature.Pack(2).MarshalText()), func(b []byte) (any, error) { var s PackedSignature; err := s.UnmarshalText(b); return s, err }},
		{"signature", must(signature.MarshalBinary()), func(b []byte) (any, error) { var s Signature; err := s.UnmarshalBinary(b); return s, err }},
		{"statistics", statistics.Bytes(), func(b []byte) (any, error) {
			s, err := ReadDocumentFrequencies(bytes.NewReader(b), &f)
			if err != nil {
				return nil, err
			}
			return []int{s.Documents(), s.Terms(), s.Frequency("the")}, nil
		}},
	} {
		say := func(b []byte) {
			x, err := c.decode(b)
			if err != nil {
				x = nil
			}
			lines = append(lines, fmt.Sprintf("%s %v %v %v %v", c.name, x, err == nil, errors.Is(err, ErrDamaged), errors.Is(err, ErrVersion)))
		}
		say(c.good)
		for i := range c.good[:min(len(c.good), 2000)] {
			for _, with := range []byte{0, 1, 0x7F, 0x80, 0xFF, c.good[i] + 1, c.good[i] - 1, c.good[i] ^ 0x20} {
				bad := slices.Clone(c.good)
				bad[i] = with
				say(bad)
			}
			say(slices.Delete(slices.Clone(c.good), i, i+1))
			say(slices.Insert(slices.Clone(c.good), i, c.good[i]))
			say(c.good[:i])
		}
	}
	return lines
}

// A decoder reads what is good, and says what it is.
type decoder struct {
	name   string
	good   []byte
	decode func([]byte) (any, error)
}
