package neardup

import (
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/neardup/neardup/internal/race"
)

// streamed are settings of every kind.
func streamed(t testing.TB) map[string]*Fingerprinter {
	seeded, err := SeededHash([]byte("0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	weight := func(t Token) float64 { return float64(len(t.Text)) / 3 }
	everything := Normalizer{HTML: true, Form: FormNFKC, Fold: true, URLs: TreatmentMask, Emails: TreatmentRemove, Dates: TreatmentMask, Numbers: TreatmentMask, Space: true}
	var common BoilerplateBuilder
	common.Add("long line without end\nhello\n中文\nword word\nx")
	common.Add("Long line, without end.\nHello\n中文。\nword word\r\nx")
	settings := map[string]*Fingerprinter{
		"boilerplate": {Normalizer: Normalizer{Space: true, Boilerplate: common.Build(2)}},
		"default":     {},
		"words":       {Tokenizer: Words{}},
		"shingles7":   {Tokenizer: Shingles{N: 7}},
		"chars1":      {Tokenizer: NGrams{1}},
		"chars3":      {Tokenizer: NGrams{3}},
		"chars70":     {Tokenizer: NGrams{70}},
		"nested":      {Tokenizer: Shingles{Of: NGrams{2}, N: 3}},
		"weighted":    {Tokenizer: Words{}, Weight: perToken(weight), TiesOne: true},
		"seeded":      {Hash: seeded},
		"positions":   {Tokenizer: Shingles{N: 3}, Weight: perToken(func(t Token) float64 { return float64(t.Start%7) + float64(t.End%5) })},
		"html":        {Normalizer: Normalizer{HTML: true}},
		"masked":      {Normalizer: Normalizer{Form: FormWidth, URLs: TreatmentRemove, Emails: TreatmentMask, Dates: TreatmentRemove, Numbers: TreatmentRemove}},
		"space":       {Normalizer: Normalizer{Space: true}, Tokenizer: NGrams{}, Weight: perToken(weight)},
		"everything":  {Normalizer: everything, Tokenizer: NGrams{2}},
	}
	if _, benchmark := t.(*testing.B); *full || benchmark {
		settings["gse"] = &Fingerprinter{Tokenizer: loadSegmenter(t)}
		settings["gse3"] = &Fingerprinter{Tokenizer: Shingles{Of: loadSegmenter(t), N: 3}, Weight: perToken(weight)}
		settings["gsepositions"] = &Fingerprinter{Tokenizer: loadSegmenter(t), Weight: settings["positions"].Weight}
	}
	return settings
}

// checkStream compares a stream with the text in one piece. Its pieces have up to
// size bytes.
func checkStream(t *testing.T, name string, f *Fingerprinter, text string, size int, rnd *rand.Rand) {
	t.Helper()
	s64, err := NewStream[Fingerprint64](f)
	if err != nil {
		t.Fatal(err)
	}
	s128, err := NewStream[Fingerprint128](f)
	if err != nil {
		t.Fatal(err)
	}
	m := MinHash{Values: 64}
	for range 2 { // a stream can be used again
		for rest := text; rest != ""; {
			n := min(len(rest), rnd.IntN(size)+1)
			if n%2 == 0 {
				s64.WriteString(rest[:n])
			} else {
				s64.Write([]byte(rest[:n]))
			}
			s128.WriteString(rest[:n])
			rest = rest[n:]
		}
		if got, want := s64.Sum(), f.Sum64(Text(text)); got != want {
			t.Fatalf("%s, pieces of up to %d bytes: %v, in one piece %v, of %.300q", name, size, got, want, text)
		}
		got, err := f.SignReader(&ragged{text, size, rnd}, m)
		if err != nil {
			t.Fatal(err)
		}
		if want := f.Sign(Text(text), m); !slices.Equal(got, want) {
			t.Fatalf("%s, pieces of up to %d bytes: signature %v, in one piece %v, of %.300q", name, size, got, want, text)
		}
		if got, want := s128.Sum(), f.Sum128(Text(text)); got != want {
			t.Fatalf("%s, pieces of up to %d bytes: %v, in one piece %v, of %.300q", name, size, got, want, text)
		}
	}
}

// A ragged reader reads a text in pieces of up to size bytes.
type ragged struct {
	text string
	size int
	rnd  *rand.Rand
}

func (r *ragged) Read(p []byte) (int, error) {
	if r.text == "" {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), r.rnd.IntN(r.size)+1)], r.text)
	r.text = r.text[n:]
	return n, nil
}

// TestSignReader: an error of the reader is returned, and so is a bad MinHash.
func TestSignReader(t *testing.T) {
	t.Parallel()
	var f Fingerprinter
	broken := errors.New("broken")
	if _, err := f.SignReader(io.MultiReader(strings.NewReader("some text"), iotest.ErrReader(broken)), MinHash{}); err != broken {
		t.Error(err)
	}
	if _, err := f.SignReader(strings.NewReader("x"), MinHash{Values: -1}); err == nil {
		t.Error("no error for -1 values")
	}
}

func TestStream(t *testing.T) {
	t.Parallel()
	texts := append([]string{
		strings.Repeat("没有句号的长句子", 1000), strings.Repeat("a", 5000) + "。" + strings.Repeat("é", 5000),
		strings.Repeat("long line without end ", 10_000), strings.Repeat("x", 200_000),
		"<p>" + strings.Repeat("日期2026年11月21日 ", 8000), "<img src='" + strings.Repeat("A", 100_000) + "'>shown<!--" + strings.Repeat("hidden ", 20_000) + "-->x",
		"<script>" + strings.Repeat("var x = '<p>hidden</p>' & 1;\n", 6000) + "</script>shown<title>&amp;" + strings.Repeat("t&lt;", 40_000) + "</title>y",
	}, hostile...)
	for _, lang := range []string{"en", "zh"} {
		for _, d := range corpus(t, lang)[:shorter(4, 2)] {
			texts = append(texts, d.Text)
		}
	}
	seed := rand.Uint64()
	t.Log("seed", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	for name, f := range streamed(t) {
		for _, text := range texts {
			if !*full && len(text) > 40_000 || testing.Short() && len(text) > 9000 {
				continue // takes minutes where the processor is emulated
			}
			for _, size := range []int{1, 7, 300, 100_000} {
				if size < 300 && len(text) > 10_000 || race.Enabled && len(text) > 50_000 && size < 100_000 {
					continue
				}
				checkStream(t, name, f, text, size, rnd)
			}
		}
	}
}

func FuzzStream(f *testing.F) {
	for i, text := range hostile {
		f.Add(text, uint64(i), 1+i%5)
	}
	settings := streamed(f)
	f.Fuzz(func(t *testing.T, text string, seed uint64, size int) {
		if !*full && len(text) > 5000 {
			t.Skip("TestStream has it")
		}
		rnd := rand.New(rand.NewPCG(seed, 0))
		for name, f := range settings {
			checkStream(t, name, f, text, max(1, size&0xFFFF), rnd)
		}
		// The limits of lines and markup lie at 64 KiB.
		if len(text) > 0 && len(text) < 1000 && seed%16 == 0 {
			for _, name := range []string{"html", "masked", "everything"} {
				checkStream(t, name, settings[name], strings.Repeat(text, 150_000/len(text)), 40_000, rnd)
			}
		}
	})
}

// TestStreamForeign: a tokenizer of which nothing is known is refused.
func TestStreamForeign(t *testing.T) {
	for _, tok := range []Tokenizer{opaque{Words{}}, Shingles{Of: opaque{Words{}}}, noThe{}} {
		if _, err := NewStream[Fingerprint64](&Fingerprinter{Tokenizer: tok}); err == nil {
			t.Errorf("%#v was taken", tok)
		}
	}
}

// TestStreamCopy: a Stream is what io.Copy writes to.
func TestStreamCopy(t *testing.T) {
	text := corpus(t, "zh")[0].Text
	s, err := NewStream[Fingerprint64](new(Fingerprinter))
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(s, iotest.HalfReader(strings.NewReader(text)))
	if got := s.Sum(); n != int64(len(text)) || err != nil || got != Sum64(text) {
		t.Errorf("%v after %d bytes of %d, %v", got, n, len(text), err)
	}
	if s.Sum() != 0 {
		t.Error("a text of nothing has a fingerprint")
	}
}

func BenchmarkStream(b *testing.B) {
	for _, lang := range []string{"en", "zh"} {
		for _, name := range []string{"default", "words", "chars2"} {
			f := Fingerprinter{Tokenizer: map[string]Tokenizer{"default": nil, "words": Words{}, "chars2": NGrams{2}}[name]}
			text := throughput(b, lang, 1<<20)
			b.Run("text="+lang+"/tokenizer="+name+"/whole", func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					f.Sum64(Text(text))
				}
			})
			b.Run("text="+lang+"/tokenizer="+name+"/pieces=32768", func(b *testing.B) {
				s, err := NewStream[Fingerprint64](&f)
				if err != nil {
					b.Fatal(err)
				}
				data := []byte(text)
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					for rest := data; len(rest) > 0; {
						n := min(len(rest), 32<<10)
						s.Write(rest[:n])
						rest = rest[n:]
					}
					s.Sum()
				}
			})
		}
	}
}
