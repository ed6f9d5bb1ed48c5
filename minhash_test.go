package neardup

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/neardup/neardup/internal/exact"
	"github.com/neardup/neardup/internal/format"
	"github.com/neardup/neardup/internal/minhash"
	"github.com/neardup/neardup/internal/race"
)

// twoSets returns the hashes of two sets of a Jaccard similarity, their union being n.
func twoSets(n int, jaccard float64, rnd *rand.Rand) (a, b []uint64) {
	common := int(math.Round(jaccard * float64(n)))
	for i := range n {
		h := rnd.Uint64()
		if i < common || i%2 == 0 {
			a = append(a, h)
		}
		if i < common || i%2 == 1 {
			b = append(b, h)
		}
	}
	return a, b
}

// spread checks that errors have no bias, and that their standard error is not more than
// what is documented. It reports whether their mean is beyond three standard errors, and
// how many of them are.
func spread(t *testing.T, name string, errs []float64, standard float64) (biased bool, far int) {
	t.Helper()
	n := float64(len(errs))
	sum, squares, far := 0.0, 0.0, 0
	for _, e := range errs {
		sum += e
		squares += e * e
		if math.Abs(e) > 3*standard {
			far++
		}
	}
	bias, rms := sum/n, math.Sqrt(squares/n)
	t.Logf("%-50s bias %+.4f, error %.4f, documented %.4f, %d of %d beyond 3", name, bias, rms, standard, far, len(errs))
	if math.Abs(bias) > 4*standard/math.Sqrt(n) {
		t.Errorf("%s: bias %f with a standard error of %f", name, bias, standard)
	}
	if rms > standard*(1+3/math.Sqrt(2*n)) {
		t.Errorf("%s: standard error %f, documented is %f", name, rms, standard)
	}
	return math.Abs(bias) > 3*standard/math.Sqrt(n), far
}

// TestEstimators checks every estimate over 200 seeds: small and large sets, both ways to
// sign, all forms to keep signatures. Of errors one in 370 should be beyond three standard
// errors, of means too.
func TestEstimators(t *testing.T) {
	if race.Enabled || !*full {
		t.Skip("takes long")
	}
	const seeds = 200
	estimates, biased, all, far := 0, 0, 0, 0
	for _, k := range []int{64, 100, 128, 1024} {
		for _, m := range []MinHash{{Values: k}, {Values: k, Permutations: true}} {
			if m.Permutations && k > 128 {
				continue
			}
			for _, n := range []int{20, 100, 2000} {
				for _, j := range []float64{0.1, 0.5, 0.9} {
					errs := map[string][]float64{}
					standard := map[string]float64{}
					for seed := range uint64(seeds) {
						rnd := rand.New(rand.NewPCG(seed, uint64(k*n)))
						ha, hb := twoSets(n, j, rnd)
						a, b := NewSet(slices.Clone(ha)), NewSet(slices.Clone(hb))
						sa, sb := m.Sign(ha), m.Sign(hb)
						exact := a.Jaccard(b)
						errs["Jaccard"] = append(errs["Jaccard"], sa.Jaccard(sb)-exact)
						standard["Jaccard"] = math.Sqrt(exact * (1 - exact) / float64(k))
						share := float64(len(a)) / (float64(len(a)) / exact * a.Containment(b)) // of a in the union
						c := a.Containment(b)
						errs["Containment"] = append(errs["Containment"], sa.Containment(sb)-c)
						standard["Containment"] = math.Sqrt(c * (1 - c) / (float64(k) * share))
						for _, bits := range []int{1, 2, 4, 8, 16} {
							name := fmt.Sprintf("%d bits", bits)
							errs[name] = append(errs[name], sa.Pack(bits).Jaccard(sb.Pack(bits))-exact)
							chance := math.Ldexp(1, -bits)
							p := exact + (1-exact)*chance
							standard[name] = math.Sqrt(p*(1-p)/float64(k)) / (1 - chance)
							if n < 2*k { // some values are the same twice
								standard[name] *= 1.5
							}
						}
					}
					for _, name := range []string{"Jaccard", "Containment", "1 bits", "2 bits", "4 bits", "8 bits", "16 bits"} {
						b, f := spread(t, fmt.Sprintf("k=%d permutations=%t n=%d J=%.1f %s", k, m.Permutations, n, j, name), errs[name], standard[name])
						if estimates++; b {
							biased++
						}
						if n > 20 { // with so few features errors are all or nothing
							all += seeds
							far += f
						}
					}
				}
			}
		}
	}
	t.Logf("%d of %d errors and %d of %d means are beyond three standard errors", far, all, biased, estimates)
	if far > all/200 || biased > estimates/100 {
		t.Error("that is too many")
	}
}

// TestBorrowedValues checks with which probability a value agrees, in sets with fewer
// features than values, where most values are borrowed: rows are not independent then, but
// each of them agrees with the probability of the similarity.
func TestBorrowedValues(t *testing.T) {
	if race.Enabled {
		t.Skip("takes long")
	}
	for _, n := range []int{1, 2, 4, 16, 100} {
		for _, k := range []int{16, 128, 1000} {
			same, all := 0, 0
			want := 0.0
			for seed := range uint64(2000) {
				if seed >= uint64(shorter(2000, 300)) {
					break
				}
				rnd := rand.New(rand.NewPCG(seed, uint64(n)))
				ha, hb := twoSets(n+1, 0.5, rnd)
				sa, sb := MinHash{Values: k}.Sign(ha), MinHash{Values: k}.Sign(hb)
				want += NewSet(ha).Jaccard(NewSet(hb))
				all++
				i := rnd.IntN(k)
				if (sa[i]^sb[i])&^minhash.Borrowed == 0 {
					same++
				}
				if slices.Contains(sa, minhash.EmptyBin) {
					t.Fatalf("n=%d k=%d: a bin is empty", n, k)
				}
			}
			want /= float64(all)
			got := float64(same) / float64(all)
			if math.Abs(got-want) > 4*math.Sqrt(want*(1-want)/float64(all)) {
				t.Errorf("n=%d k=%d: values agree in %.3f, want %.3f", n, k, got, want)
			}
		}
	}
}

// naiveSign is the definition of a signature, without haste.
func naiveSign(m MinHash, hashes []uint64) Signature {
	k := uint64(m.values())
	s := m.empty()
	for bin := range k {
		for _, h := range hashes {
			// The bins are equal parts of all numbers of 64 bits.
			if !m.Permutations {
				at := float64(h) / math.Ldexp(1, 64) * float64(k)
				if math.Abs(at-math.Round(at)) > 1e-6 && uint64(at) != bin {
					continue
				}
				if math.Abs(at-math.Round(at)) <= 1e-6 {
					panic("choose other hashes")
				}
				s[bin] = min(s[bin], uint32((h*k)>>33))
			}
		}
	}
	return s
}

func TestSign(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range shorter(300, 50) {
		m := MinHash{Values: 16 + rnd.IntN(200)}
		hashes := make([]uint64, rnd.IntN(300))
		for i := range hashes {
			hashes[i] = rnd.Uint64()
		}
		raw := naiveSign(m, hashes)
		s := m.Sign(hashes)
		if two := m.AppendSign(slices.Clone(s), hashes); !slices.Equal(two, slices.Concat(s, s)) {
			t.Fatalf("appended to %v: %v", s, two)
		}
		for i, v := range s {
			switch {
			case raw[i] != minhash.EmptyBin && v != raw[i]:
				t.Fatalf("value %d is %d, want %d", i, v, raw[i])
			case raw[i] == minhash.EmptyBin && len(hashes) > 0 && (v < minhash.Borrowed || !slices.Contains(raw, v&^minhash.Borrowed)):
				t.Fatalf("value %d is %x, which is nowhere", i, v)
			case len(hashes) == 0 && v != minhash.EmptyBin:
				t.Fatalf("the empty set has %x", v)
			}
		}
		// Order and repetition do not matter, nor does it whether there is a set between.
		again := append(slices.Clone(hashes), hashes[:len(hashes)/2]...)
		rnd.Shuffle(len(again), func(i, j int) { again[i], again[j] = again[j], again[i] })
		if !slices.Equal(m.Sign(again), s) || !slices.Equal(m.Sign(NewSet(again)), s) {
			t.Fatal("another order gives another signature")
		}
		// The signature of a union is the merged one.
		for _, m := range []MinHash{m, {Values: m.Values, Permutations: true}} {
			cut := rnd.IntN(len(hashes) + 1)
			a, b := m.Sign(hashes[:cut]), m.Sign(hashes[cut:])
			a.Merge(b)
			if !slices.Equal(a, m.Sign(hashes)) {
				t.Fatalf("merged: %x, want %x", a, m.Sign(hashes))
			}
		}
	}
}

// TestSignTexts compares signatures of texts and records with those of their sets, however
// features are read.
func TestSignTexts(t *testing.T) {
	t.Parallel()
	texts := append(corpusTexts(t, "en", "zh"), "", "!", "one", "a b")
	secret, err := SeededHash([]byte("0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	custom := Hash{Sum64: func(s string) uint64 { return exact.SplitMix(uint64(len(s))<<32 + uint64(s[0])) }}
	for _, f := range []Fingerprinter{
		{}, {Tokenizer: NGrams{N: 2}}, {Tokenizer: Words{}, Hash: secret}, {Tokenizer: opaque{Words{}}}, {Hash: custom},
		{Normalizer: Normalizer{Numbers: TreatmentRemove}, Weight: LogCount}, {Tokenizer: Words{StopWords: NewLexicon("the")}},
	} {
		for _, text := range texts {
			var want []uint64
			f.Weight = nil // it does not count
			for feature := range f.Features(Text(text)) {
				want = append(want, f.Hash.sum64()(feature.Text))
			}
			set := f.Set(Text(text))
			if slices.Sort(want); !slices.Equal(set, Set(slices.Compact(want))) {
				t.Fatalf("the set of %.20q has %d elements, want %d", text, len(set), len(want))
			}
			for _, m := range []MinHash{{}, {Values: 16, Permutations: true}} {
				if !slices.Equal(f.Sign(Text(text), m), m.Sign(set)) {
					t.Fatalf("the signature of %.20q is not that of its set", text)
				}
			}
		}
	}
	f := Fingerprinter{Fields: []Field{{Name: "name", Split: Words{}}, {Name: "city", Named: true}, {Name: "text", Large: true}}}
	rec := Record{"name": "Ada Lovelace", "city": "London", "text": "the analytical engine"}
	var want []uint64
	for feature := range f.Features(rec) {
		want = append(want, f.Hash.sum64()(feature.Text))
	}
	if got := f.Set(rec); !slices.Equal(got, NewSet(want)) || len(got) != 5 {
		t.Errorf("the set of the record is %x, want %x", got, want)
	}
	if !slices.Equal(f.Sign(rec, MinHash{}), MinHash{}.Sign(want)) {
		t.Error("the signature of the record is not that of its set")
	}
}

func TestSets(t *testing.T) {
	a, b := SetOf("a", "b", "b", "c"), SetOf("c", "b", "d", "e", "f")
	for _, test := range []struct {
		name      string
		got, want float64
	}{
		{"Jaccard", a.Jaccard(b), 2. / 6}, {"Dice", a.Dice(b), 4. / 8}, {"Containment", a.Containment(b), 2. / 3}, {"Containment", b.Containment(a), 2. / 5},
		{"Jaccard", a.Jaccard(nil), 0}, {"Jaccard", a.Jaccard(a), 1}, {"Dice", Set{}.Dice(a), 0}, {"Containment", a.Containment(Set{}), 0},
	} {
		if test.got != test.want {
			t.Errorf("%s is %f, want %f", test.name, test.got, test.want)
		}
	}
	for _, x := range []float64{Set{}.Jaccard(nil), Set{}.Dice(nil), Set{}.Containment(a)} {
		if !math.IsNaN(x) {
			t.Errorf("of the empty set: %f", x)
		}
	}
	// Li 2015 and Broder 1997: windows of N characters.
	x, y := "相似文本识别技术", "相似文档识别技术"
	for _, test := range []struct {
		n, shingles int
		r, c        float64
	}{{2, 7, 5. / 9, 5. / 7}, {3, 6, 1. / 3, 1. / 2}, {4, 5, 1. / 9, 1. / 5}} {
		f := Fingerprinter{Tokenizer: NGrams{N: test.n}}
		a, b := f.Set(Text(x)), f.Set(Text(y))
		if len(a) != test.shingles || len(b) != test.shingles || a.Jaccard(b) != test.r || a.Containment(b) != test.c {
			t.Errorf("N=%d: %d and %d shingles, resemblance %f, containment %f", test.n, len(a), len(b), a.Jaccard(b), a.Containment(b))
		}
	}
}

func TestSignatureNaN(t *testing.T) {
	m := MinHash{Values: 16}
	empty, one := m.Sign(nil), m.Sign([]uint64{12345 << 40})
	for _, x := range []float64{empty.Jaccard(empty), empty.Containment(one), one.Jaccard(MinHash{}.Sign(nil)), one.Containment(nil),
		empty.Pack(1).Jaccard(empty.Pack(1)), one.Pack(1).Jaccard(one.Pack(2)), one.Pack(1).Jaccard(PackedSignature{})} {
		if !math.IsNaN(x) {
			t.Errorf("%f, want NaN", x)
		}
	}
	for _, x := range []float64{empty.Jaccard(one), one.Jaccard(empty), one.Containment(empty), one.Pack(8).Jaccard(empty.Pack(8))} {
		if x != 0 {
			t.Errorf("%f, want 0", x)
		}
	}
	if one.Jaccard(one) != 1 || one.Containment(one) != 1 || one.Pack(1).Jaccard(one.Pack(1)) != 1 {
		t.Error("a set is not like itself")
	}
	for _, f := range []func(){func() { one.Merge(MinHash{}.Sign(nil)) }, func() { MinHash{Values: 15}.Sign(nil) }, func() { MinHash{Values: 4097}.Sign(nil) }, func() { one.Pack(3) }} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		}()
	}
}

// TestSignNumbers has features whose hashes are neighbouring numbers, as a poor hash would make them. Estimates
// must be as good as for others.
func TestSignNumbers(t *testing.T) {
	t.Parallel()
	for _, m := range []MinHash{{Values: 256, Permutations: true}, {Values: 32, Permutations: true}} {
		const rounds = 100
		sum, squares := 0.0, 0.0
		for round := range rounds {
			var a, b []uint64
			for i := range 300 { // 200 each, of which 100 are common
				if h := uint64(round*1000 + i); i < 200 {
					a = append(a, h)
				}
				if h := uint64(round*1000 + i); i >= 100 {
					b = append(b, h)
				}
			}
			e := m.Sign(a).Jaccard(m.Sign(b)) - 1.0/3
			sum, squares = sum+e, squares+e*e
		}
		standard := math.Sqrt(2.0 / 9 / float64(m.Values))
		if bias, err := sum/rounds, math.Sqrt(squares/rounds); math.Abs(bias) > 4*standard/math.Sqrt(rounds) || err > 1.3*standard {
			t.Errorf("%+v: bias %.4f, error %.4f, want %.4f", m, bias, err, standard)
		}
	}
}

// TestGoldenSignatures has values that must never change.
func TestGoldenSignatures(t *testing.T) {
	digest := func(ways ...MinHash) uint64 {
		d := format.NewDigest()
		for _, text := range append(corpusTexts(t, "en", "zh", "more"), "", "one two") {
			for _, m := range ways {
				s := new(Fingerprinter).Sign(Text(text), m)
				b, _ := s.MarshalBinary()
				d.Text(string(b))
				b, _ = s.Pack(2).MarshalBinary()
				d.Text(string(b))
			}
		}
		return d.Sum()
	}
	if got := digest(MinHash{}, MinHash{Values: 100}, MinHash{Values: 1024}); got != goldenSignatures {
		t.Errorf("signatures have changed: %#x", got)
	}
	if got := digest(MinHash{Values: 16, Permutations: true}, MinHash{Permutations: true}); got != goldenPermutations {
		t.Errorf("signatures by permutations have changed: %#x", got)
	}
	version, err := MinHash{Values: 100}.Version(&Fingerprinter{Weight: LogCount})
	if want := "neardup=2 unicode=15.0.0 normalizer=none tokenizer=shingles(words,2) hash=xxh3 minhash=bins(100)"; version != want || err != nil {
		t.Errorf("%s %v, want %s", version, err, want)
	}
	if _, err := (MinHash{Values: 1}).Version(&Fingerprinter{}); err == nil {
		t.Error("no error")
	}
	if _, err := (MinHash{}).Version(&Fingerprinter{Hash: Hash{Sum64: func(string) uint64 { return 0 }}}); err == nil {
		t.Error("no error for a hash without a name")
	}
}

const goldenSignatures = 0x750a4bb035f05ca2
const goldenPermutations = 0xaf9f8c80205165f0

func checkSignatureDecoders(t *testing.T, data []byte) {
	var s Signature
	if err := s.UnmarshalBinary(data); err == nil {
		if again, _ := s.MarshalBinary(); !bytes.Equal(again, data) {
			t.Fatalf("%x reads back as %x", data, again)
		}
		s.Jaccard(s)
		s.Containment(s)
		s.Pack(4)
		s.Merge(s)
	} else if s != nil {
		t.Fatal("changed after an error")
	}
	var p PackedSignature
	if err := p.UnmarshalBinary(data); err == nil {
		if again, _ := p.MarshalBinary(); !bytes.Equal(again, data) {
			t.Fatalf("%x reads back as %x", data, again)
		}
		p.Jaccard(p)
	}
}

func FuzzSignature(f *testing.F) {
	s := MinHash{Values: 16}.Sign([]uint64{1, 2, 3})
	b, _ := s.MarshalBinary()
	f.Add(b)
	b, _ = s.Pack(2).MarshalBinary()
	f.Add(b)
	f.Add([]byte{0, 16, 0x81, 0, 0, 0, 0, 0, 0, 255, 255})
	f.Fuzz(checkSignatureDecoders)
}

func TestSignatureBinary(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for _, bad := range []Signature{slices.Repeat(Signature{minhash.Borrowed + 1}, 16), append(slices.Repeat(Signature{minhash.EmptyBin}, 15), 1), append(slices.Repeat(Signature{1}, 15), minhash.EmptyBin)} {
		data, _ := bad.MarshalBinary()
		if err := new(Signature).UnmarshalBinary(data); err == nil {
			t.Errorf("%x is of no set", bad)
		}
	}
	var p PackedSignature
	if err := p.UnmarshalBinary([]byte{0, 16, 1, 0, 0, 0, 0, 0, 1, 0, 0}); err == nil {
		t.Error("bits of no value")
	}
	for _, k := range []int{16, 100, 128, 4096} {
		a, b := twoSets(50+k, 0.6, rnd)
		s, o := MinHash{Values: k}.Sign(a), MinHash{Values: k}.Sign(b)
		data, _ := s.MarshalBinary()
		checkSignatureDecoders(t, data)
		for _, bits := range []int{1, 2, 4, 8, 16} {
			data, _ := s.Pack(bits).MarshalBinary()
			checkSignatureDecoders(t, data)
			var p PackedSignature
			if err := p.UnmarshalBinary(data); err != nil || p.Jaccard(o.Pack(bits)) != s.Pack(bits).Jaccard(o.Pack(bits)) {
				t.Fatalf("k=%d bits=%d: %v", k, bits, err)
			}
			text, err := json.Marshal(p)
			var q PackedSignature
			if err == nil {
				err = json.Unmarshal(text, &q)
			}
			if err != nil || q.Jaccard(p) != 1 || json.Unmarshal([]byte(`"AAAA*"`), &q) == nil {
				t.Fatalf("k=%d bits=%d: %s %v", k, bits, text, err)
			}
			for n := range len(data) {
				if p.UnmarshalBinary(data[:n]) == nil {
					t.Fatalf("k=%d bits=%d: %d of %d bytes are a signature", k, bits, n, len(data))
				}
			}
		}
	}
}

// BenchmarkSign measures signatures of 500 prehashed elements, and of real text:
//
//	NEARDUP_DATA=… go test -run '^$' -bench 'Sign$|SignText' -cpu 1 .
func BenchmarkSign(b *testing.B) {
	rnd := rand.New(rand.NewPCG(1, 2))
	sets := make([][]uint64, 64)
	for i := range sets {
		for range 500 {
			sets[i] = append(sets[i], rnd.Uint64())
		}
	}
	for _, m := range []MinHash{{}, {Values: 1024}, {Permutations: true}} {
		b.Run(fmt.Sprintf("elements=500/values=%d/permutations=%t", m.values(), m.Permutations), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				m.Sign(sets[i%len(sets)])
			}
		})
	}
	for _, n := range []int{1, 5, 10, 30, 100} {
		b.Run(fmt.Sprintf("elements=%d/values=128/permutations=false", n), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				from := i / len(sets) % (500 - n) // so many that the processor does not learn them
				MinHash{}.Sign(sets[i%len(sets)][from : from+n])
			}
		})
	}
	for _, n := range []int{5, 10, 30} {
		b.Run(fmt.Sprintf("append/elements=%d/values=128", n), func(b *testing.B) {
			var s Signature
			for i := 0; b.Loop(); i++ {
				from := i / len(sets) % (500 - n)
				s = MinHash{}.AppendSign(s[:0], sets[i%len(sets)][from:from+n])
			}
		})
	}
	for _, values := range []int{256, 260, 1024, 4096} {
		for _, n := range []int{5, 30, 100, 400} {
			for _, permutations := range []bool{false, true} {
				b.Run(fmt.Sprintf("append/elements=%d/values=%d/permutations=%t", n, values, permutations), func(b *testing.B) {
					m := MinHash{Values: values, Permutations: permutations}
					var s Signature
					for _, set := range sets { // makes what is made once
						m.Sign(set[:n])
					}
					for i := 0; b.Loop(); i++ {
						s = m.AppendSign(s[:0], sets[i%len(sets)][:n])
					}
				})
			}
		}
	}
	for _, n := range []int{5, 10, 30, 500} {
		b.Run(fmt.Sprintf("append/elements=%d/values=128/permutations=true", n), func(b *testing.B) {
			var s Signature
			for i := 0; b.Loop(); i++ {
				from := i / len(sets) % (501 - n)
				s = MinHash{Permutations: true}.AppendSign(s[:0], sets[i%len(sets)][from:from+n])
			}
		})
	}
	x, y := MinHash{}.Sign(sets[0]), MinHash{}.Sign(sets[1])
	b.Run("jaccard/values=128", func(b *testing.B) {
		for b.Loop() {
			x.Jaccard(y)
		}
	})
}

func BenchmarkSignText(b *testing.B) {
	for _, lang := range []string{"en", "zh"} {
		text := throughput(b, lang, 1<<20)
		for _, size := range []int{1 << 10, 10 << 10} {
			b.Run(fmt.Sprintf("text=%s/size=%d", lang, size), func(b *testing.B) {
				b.SetBytes(int64(size))
				f := Fingerprinter{}
				for i := 0; b.Loop(); i++ {
					at := i * size % (len(text) - size)
					f.Sign(Text(text[at:at+size]), MinHash{})
				}
			})
		}
	}
}

// TestPackedChance: bits that are equal by chance do not count.
func TestPackedChance(t *testing.T) {
	rnd := rand.New(rand.NewPCG(6, 6))
	m := MinHash{Values: 4096}
	var a, b []uint64
	for i := range 3000 {
		x := rnd.Uint64()
		if i < 2000 {
			a = append(a, x)
		}
		if i >= 1000 {
			b = append(b, x)
		}
	}
	x, y := m.Sign(a), m.Sign(b)
	for _, bits := range []int{1, 2, 4, 8, 16} {
		// The standard error for one bit is 0.015, and less for more.
		if j := x.Pack(bits).Jaccard(y.Pack(bits)); j < 1.0/3-0.06 || j > 1.0/3+0.06 {
			t.Errorf("%d bits: %.3f, want 0.333", bits, j)
		}
	}
}
