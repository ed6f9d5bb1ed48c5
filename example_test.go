package neardup_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/neardup/neardup"
)

func ExampleSum64() {
	a := neardup.Sum64("The quick brown fox jumps over the lazy dog, and nobody minds at all.")
	b := neardup.Sum64("the quick brown fox jumps over the lazy dog and nobody minds at all")
	c := neardup.Sum64("An entirely different sentence about fish and chips and vinegar.")
	fmt.Println(a.Distance(b), a.Distance(c) > 20)
	// Output: 0 true
}

func ExampleComponents() {
	texts := []string{
		"市民投诉：小区旁边的工地夜间施工，噪音很大，影响休息。",
		"请问如何办理居住证？需要准备哪些材料？",
		"市民投诉：小区旁边的工地夜间施工，噪音很大，影响休息！！",
	}
	var fps []neardup.Fingerprint64
	for _, text := range texts {
		fps = append(fps, neardup.Sum64(text))
	}
	clusters, err := neardup.Components(context.Background(), fps, 3)
	if err != nil {
		panic(err) // the context has ended
	}
	for i, first := range clusters {
		if i == first {
			fmt.Println("keep", i)
		} else {
			fmt.Println("drop", i, "like", first)
		}
	}
	// Output:
	// keep 0
	// keep 1
	// drop 2 like 0
}

func ExamplePairs() {
	fps := []neardup.Fingerprint64{0b0000, 0xFFFF, 0b0011}
	for p, err := range neardup.Pairs(context.Background(), fps, 3) {
		if err != nil {
			panic(err)
		}
		fmt.Println(p.A, p.B, p.Distance)
	}
	// Output: 0 2 2
}

func ExampleIndex() {
	ix, err := neardup.NewIndex[string, neardup.Fingerprint64](3, neardup.IndexOptions{})
	if err != nil {
		panic(err) // the distance is out of range
	}
	ix.Add("page-1", neardup.Sum64("all about fish and chips and where to eat them"))
	ix.Add("page-2", neardup.Sum64("the weather tomorrow will be fine, with some clouds"))
	for m, err := range ix.Search(context.Background(), neardup.Sum64("All about fish & chips, and where to eat them.")) {
		if err != nil {
			panic(err)
		}
		fmt.Println(m.ID, m.Distance <= 3)
	}
	fmt.Println(ix.Exists(context.Background(), neardup.Sum64("the weather tomorrow will be fine, with some clouds!")))
	// Output: true <nil>
}

// beginning is a weight of our own: the beginning of a text counts most.
type beginning struct{}

func (beginning) Weigh(f *neardup.Feature) float64 { return 1 / float64(1+f.Start/100) }

func (beginning) TokenOnly() bool { return true }

func ExampleFingerprinter() {
	f := neardup.Fingerprinter{
		Tokenizer: neardup.NGrams{N: 2},
		Weight:    neardup.Product{neardup.Count, beginning{}},
	}
	fmt.Println(f.Sum64(neardup.Text("fish and chips")).Distance(f.Sum64(neardup.Text("Fish, and chips!"))))
	// Output: 0
}

// Keywords with their weights are a document, too. With the hashes of three bits of the second example of S001, the votes are
// −4, −2 and 6.
func ExampleFingerprinter_Sum64Of() {
	hashes := map[string]uint64{"w1": 0b101, "w2": 0b011, "w3": 0b100, "w4": 0b001, "w5": 0b110}
	f := neardup.Fingerprinter{Hash: neardup.Hash{Sum64: func(feature string) uint64 { return hashes[feature] }}}
	s001 := f.Sum64Of(map[string]float64{"w1": 1, "w2": 2, "w4": 3})
	fmt.Printf("%03b\n", uint64(s001.Truncate(3)))

	// With the usual hashes.
	var g neardup.Fingerprinter
	report := g.Sum128Of(map[string]float64{"near-duplicates": 5, "search": 2.5, "Go": 1})
	other := g.Sum128Of(map[string]float64{"near-duplicates": 5, "search": 3, "Rust": 0.5})
	fmt.Println(report.Distance(other) < 30)
	// Output:
	// 001
	// true
}

func ExampleAccumulator64() {
	var f neardup.Fingerprinter
	var doc neardup.Accumulator64
	f.Accumulate64(&doc, neardup.Text("First paragraph of a long document."))
	f.Accumulate64(&doc, neardup.Text("Second paragraph, soon to be rewritten."))

	var old neardup.Accumulator64 // the edit: out with the old, in with the new
	f.Accumulate64(&old, neardup.Text("Second paragraph, soon to be rewritten."))
	doc.Subtract(&old)
	f.Accumulate64(&doc, neardup.Text("Second paragraph, rewritten."))

	var again neardup.Accumulator64
	f.Accumulate64(&again, neardup.Text("Second paragraph, rewritten."))
	f.Accumulate64(&again, neardup.Text("First paragraph of a long document."))
	fmt.Println(doc == again)
	// Output: true
}

func ExampleStream() {
	s, err := neardup.NewStream[neardup.Fingerprint64](new(neardup.Fingerprinter))
	if err != nil {
		panic(err)
	}
	file := strings.NewReader("The quick brown fox jumps over the lazy dog.") // of any size
	if _, err := io.Copy(s, file); err != nil {
		panic(err)
	}
	fmt.Println(s.Sum() == neardup.Sum64("The quick brown fox jumps over the lazy dog."))
	// Output: true
}

func ExampleNormalizer() {
	n := neardup.Normalizer{HTML: true, Form: neardup.FormNFKC, Dates: neardup.TreatmentMask, Numbers: neardup.TreatmentRemove, Space: true}
	fmt.Println(n.Normalize("<p>Ｉｎｖｏｉｃｅ&nbsp;№ 4711 of <b>21 Nov 2026</b><script>track()</script>"))
	f := neardup.Fingerprinter{Normalizer: n}
	a, b := f.Sum64(neardup.Text("<td>付款日期：2026年11月21日，金额128元</td>")), f.Sum64(neardup.Text("付款日期：2027年1月3日，金额4096元"))
	fmt.Println(a.Distance(b))
	// Output:
	// Invoice No of <date>
	// 0
}

func ExampleBoilerplateBuilder() {
	pages := []string{
		"Home | News | Contact\nThe council has met.\n© the town",
		"Home | News | Contact\nThe bridge is open again.\n© the town",
		"Home | News | Contact\nNobody was hurt.\n© the town",
	}
	var b neardup.BoilerplateBuilder
	for _, page := range pages {
		b.Add(page)
	}
	n := neardup.Normalizer{Boilerplate: b.Build(3)}
	fmt.Print(n.Normalize(pages[1]))
	// Output: The bridge is open again.
}

func ExampleWriteFingerprints() {
	f := neardup.Fingerprinter{Tokenizer: neardup.Words{}}
	ix, _ := neardup.NewIndex[string, neardup.Fingerprint64](3, neardup.IndexOptions{})
	ix.Add("doc-1", f.Sum64(neardup.Text("The quick brown fox jumps over the lazy dog.")))

	version, err := f.Version()
	if err != nil {
		panic(err)
	}
	var file bytes.Buffer
	if err := neardup.WriteFingerprints(&file, version, ix.All()); err != nil {
		panic(err)
	}

	// A year later, with another tokenizer.
	f.Tokenizer = neardup.NGrams{N: 3}
	version, _ = f.Version()
	again, _ := neardup.NewIndex[string, neardup.Fingerprint64](3, neardup.IndexOptions{})
	fmt.Println(neardup.ReadFingerprints(&file, version, again.Add))
	// Output: neardup: data was stored with different settings: tokenizer=words, not ngrams(3); fingerprint the stored texts again, or use the original settings
}

func ExampleSeededHash() {
	hash, err := neardup.SeededHash([]byte("32 random bytes from a safe place"))
	if err != nil {
		panic(err)
	}
	f := neardup.Fingerprinter{Hash: hash}
	fmt.Println(f.Sum64(neardup.Text("a text")) == neardup.Sum64("a text"))
	// Output: false
}

func ExampleRecord() {
	f := neardup.Fingerprinter{Fields: []neardup.Field{
		{Name: "name", Split: neardup.NGrams{N: 2}}, // most bigrams survive a typing error
		{Name: "born", Form: neardup.DateValue},
		{Name: "phone", Form: neardup.PhoneValue, Country: "86"},
	}}
	a := f.Sum128(neardup.Record{"name": "Zhang San", "born": "1956-04-09", "phone": "138 0013 8000"})
	b := f.Sum128(neardup.Record{"name": "ZHANG San", "born": "9 April 1956", "phone": "+86 13800138000"})
	fmt.Println(a.Distance(b))
	// Output: 0
}

func ExampleDocumentFrequenciesBuilder() {
	f := neardup.Fingerprinter{Tokenizer: neardup.Words{}}
	b := neardup.DocumentFrequenciesBuilder{Fingerprinter: f}
	for _, text := range []string{"the cat", "the dog", "the cat and the dog", "the fish"} {
		b.Add(neardup.Text(text))
	}
	stats := b.Build()
	f.Weight = neardup.Product{neardup.LogCount, neardup.IDF{Frequencies: stats}}
	for feature, weight := range f.Features(neardup.Text("the fish and the chips")) {
		fmt.Printf("%s %.2f\n", feature.Text, weight)
	}
	// Output:
	// the 0.00
	// fish 1.39
	// and 1.39
	// chips 1.39
}

func ExampleIndex_SearchMany() {
	ix, err := neardup.NewIndex[string, neardup.Fingerprint64](3, neardup.IndexOptions{})
	if err != nil {
		panic(err)
	}
	ix.Add("lamp", neardup.Sum64("The street lamp in front of our house has been dark for a week."))
	ix.Add("library", neardup.Sum64("When will the library open on Saturdays?"))
	found, err := ix.SearchMany(context.Background(), []neardup.Fingerprint64{
		neardup.Sum64("When will the library open on Saturdays???"),
		neardup.Sum64("The bus was late again."),
		neardup.Sum64("The street lamp in front of our house HAS BEEN dark for a week!"),
	})
	if err != nil {
		panic(err) // never of an index in memory
	}
	for i, matches := range found {
		for _, m := range matches {
			fmt.Println("query", i, "is like", m.ID)
		}
	}
	// Output:
	// query 0 is like library
	// query 2 is like lamp
}

func ExampleIndex_SearchAndAdd() {
	seen, err := neardup.NewIndex[int, neardup.Fingerprint64](3, neardup.IndexOptions{})
	if err != nil {
		panic(err)
	}
	for i, text := range []string{
		"The street lamp in front of our house has been dark for a week.",
		"When will the library open on Saturdays?",
		"The street lamp in front of our house HAS BEEN dark for a week!",
	} {
		known, err := seen.SearchAndAdd(context.Background(), i, neardup.Sum64(text))
		if err != nil {
			panic(err)
		}
		if len(known) > 0 {
			fmt.Printf("%d is like %d\n", i, known[0].ID)
		}
	}
	// Output: 2 is like 0
}

func ExampleIndex_Nearest() {
	ix, _ := neardup.NewIndex[string, neardup.Fingerprint64](3, neardup.IndexOptions{})
	ix.Add("far", 0xFFFF)
	ix.Add("near", 0x0007)
	nearest, err := ix.Nearest(context.Background(), 0x0001, 2)
	if err != nil {
		panic(err)
	}
	for _, m := range nearest {
		fmt.Println(m.ID, m.Distance)
	}
	// Output:
	// near 2
	// far 15
}

func ExampleIndex_DeleteFunc() {
	ix, _ := neardup.NewIndex[string, neardup.Fingerprint64](3, neardup.IndexOptions{})
	ix.Add("https://example.org/news/1", 1)
	ix.Add("https://example.org/about", 2)
	n, err := ix.DeleteFunc(func(e neardup.Entry[string, neardup.Fingerprint64]) bool {
		return strings.Contains(e.ID, "/news/") || time.Since(e.Added) > 365*24*time.Hour
	})
	fmt.Println(n, err, ix.Len())
	// Output: 1 <nil> 1
}

// An index in files outlives the program.
func ExampleOpenIndex() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	var f neardup.Fingerprinter
	version, err := f.Version()
	if err != nil {
		panic(err)
	}
	open := func() *neardup.Index[string, neardup.Fingerprint64] {
		ix, err := neardup.OpenIndex[string, neardup.Fingerprint64](filepath.Join(dir, "pages.index"), 3, neardup.IndexOptions{Version: version})
		if err != nil {
			panic(err)
		}
		return ix
	}
	ix := open()
	ix.Add("fish", f.Sum64(neardup.Text("All about fish and chips and where to eat them.")))
	if err := ix.Sync(); err != nil { // now nothing loses it
		panic(err)
	}
	if err := ix.Close(); err != nil {
		panic(err)
	}

	ix = open()
	defer ix.Close()
	for m, err := range ix.Search(context.Background(), f.Sum64(neardup.Text("All about fish and chips, and where to eat them!"))) {
		if err != nil { // a damaged file
			panic(err)
		}
		fmt.Println(m.ID, m.Distance)
	}
	// Output: fish 0
}

func ExamplePairsBetween() {
	old := []neardup.Fingerprint64{0x00, 0xFF}
	new := []neardup.Fingerprint64{0xFE, 0xF0F0, 0xFC}
	for p, err := range neardup.PairsBetween(context.Background(), old, new, 3) {
		if err != nil {
			panic(err)
		}
		fmt.Println("old", p.A, "new", p.B, "distance", p.Distance)
	}
	// Output:
	// old 1 new 0 distance 1
	// old 1 new 2 distance 2
}

func ExampleSet_Jaccard() {
	f := neardup.Fingerprinter{Tokenizer: neardup.NGrams{N: 2}}
	a, b := f.Set(neardup.Text("相似文本识别技术")), f.Set(neardup.Text("相似文档识别技术"))
	fmt.Printf("Jaccard %.3f, Dice %.3f, containment %.3f\n", a.Jaccard(b), a.Dice(b), a.Containment(b))
	// Output: Jaccard 0.556, Dice 0.714, containment 0.714
}

func ExampleSignature_Jaccard() {
	f := neardup.Fingerprinter{Tokenizer: neardup.Words{}}
	m := neardup.MinHash{Values: 1024}
	a := f.Sign(neardup.Text("the quick brown fox jumps over the lazy dog"), m)
	b := f.Sign(neardup.Text("a quick brown fox jumps over one lazy dog"), m)
	fmt.Printf("%.2f\n", a.Jaccard(b)) // 7 of 10 words; of so few features it is nearly exact
	// Output: 0.70
}

func ExampleSignature_Merge() {
	var f neardup.Fingerprinter
	var m neardup.MinHash
	site := f.Sign(neardup.Text("the first page of a site"), m)
	site.Merge(f.Sign(neardup.Text("and the second one"), m))
	fmt.Println(f.Sign(neardup.Text("and the second one"), m).Containment(site))
	// Output: 1
}

func ExampleSignatureIndex() {
	texts := map[string]string{
		"page-1": "all about fish and chips and where to eat them when it rains",
		"page-2": "the sights of the old town, with a map and opening hours of all museums",
	}
	var f neardup.Fingerprinter
	var m neardup.MinHash
	ix, err := neardup.NewSignatureIndex[string](0.6, neardup.SignatureIndexOptions{})
	if err != nil {
		panic(err) // the similarity is none
	}
	for id, text := range texts {
		ix.Add(id, f.Sign(neardup.Text(text), m))
	}
	query := "All about fish and chips, and where to eat them if it rains!"
	for match, err := range ix.Search(context.Background(), f.Sign(neardup.Text(query), m)) { // by the estimate
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s %.2f\n", match.ID, match.Similarity)
	}
	for c, err := range ix.Candidates(context.Background(), f.Sign(neardup.Text(query), m)) { // to be verified exactly
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s %.4f\n", c.ID, f.Set(neardup.Text(query)).Jaccard(f.Set(neardup.Text(texts[c.ID]))))
	}
	// Output:
	// page-1 0.69
	// page-1 0.7143
}

func ExampleBanding() {
	fmt.Println(neardup.Banding{Bands: 32, Rows: 4})
	// Output: 32 bands of 4 rows: 0.1 0.003, 0.2 0.050, 0.3 0.229, 0.4 0.564, 0.5 0.873, 0.6 0.988, 0.7 1.000, 0.8 1.000, 0.9 1.000
}

func ExampleVectorIndex() {
	f := neardup.Fingerprinter{Tokenizer: neardup.Words{}}
	ix, err := neardup.NewVectorIndex[string](0.5, neardup.VectorIndexOptions{})
	if err != nil {
		panic(err) // the similarity is out of range
	}
	ix.Add("a", f.Vector(neardup.Text("fish and chips")))
	ix.Add("b", f.Vector(neardup.Text("fish and more fish")))
	ix.Add("c", f.Vector(neardup.Text("a walk in the park")))
	nearest, err := ix.Nearest(context.Background(), f.Vector(neardup.Text("fish")), 2)
	if err != nil {
		panic(err)
	}
	for _, m := range nearest {
		fmt.Printf("%s %.3f\n", m.ID, m.Similarity)
	}
	// Output:
	// b 0.816
	// a 0.577
}

func ExampleVector_Cosine() {
	// Wang 2016 §2: (30,20,20,10,0) and (40,0,30,20,10).
	a := neardup.NewVector([]neardup.Term{{Feature: 1, Weight: 30}, {Feature: 2, Weight: 20}, {Feature: 3, Weight: 20}, {Feature: 4, Weight: 10}})
	b := neardup.NewVector([]neardup.Term{{Feature: 1, Weight: 40}, {Feature: 3, Weight: 30}, {Feature: 4, Weight: 20}, {Feature: 5, Weight: 10}})
	fmt.Println(a.Dot(b), a.Cosine(b))
	// Output: 2000 0.8606629658238704
}

func ExampleVectorPairs() {
	f := neardup.Fingerprinter{Tokenizer: neardup.Words{}}
	vectors := []neardup.Vector{f.Vector(neardup.Text("fish and chips")), f.Vector(neardup.Text("a walk")), f.Vector(neardup.Text("chips and fish"))}
	for p, err := range neardup.VectorPairs(context.Background(), vectors, 0.5) {
		if err != nil {
			panic(err)
		}
		fmt.Println(p.A, p.B, p.Similarity)
	}
	// Output: 0 2 1
}

func ExampleGroupPairs() {
	pairs := func(yield func(neardup.Pair[int], error) bool) { // of a program of one's own
		_ = yield(neardup.Pair[int]{A: 0, B: 1, Similarity: 0.9}, nil) && yield(neardup.Pair[int]{A: 1, B: 2, Similarity: 0.8}, nil)
	}
	fmt.Println(neardup.GroupPairs(3, pairs, neardup.SingleLinkage, nil))
	fmt.Println(neardup.GroupPairs(3, pairs, neardup.CentreLinkage, nil))
	// Output:
	// [0 0 0] <nil>
	// [0 0 2] <nil>
}
