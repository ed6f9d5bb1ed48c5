package content

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup/internal/signature"
	"github.com/neardup/neardup/internal/textfile"
)

// makers are makers of all sorts of contents.
func makers() map[string]*Maker {
	seeded, err := neardup.SeededHash([]byte("a secret of sixteen or more bytes"))
	if err != nil {
		panic(err)
	}
	return map[string]*Maker{
		"levels":    NewMaker(&neardup.Fingerprinter{}),
		"seeded":    NewMaker(&neardup.Fingerprinter{Hash: seeded}),
		"normal":    NewMaker(&neardup.Fingerprinter{Normalizer: neardup.Normalizer{Numbers: neardup.TreatmentMask, Form: neardup.FormNFKC}}),
		"tokenizer": NewMaker(&neardup.Fingerprinter{Tokenizer: neardup.NGrams{N: 2}}),
		"weight":    NewMaker(&neardup.Fingerprinter{Weight: neardup.Constant(2)}),
	}
}

var texts = []string{
	"", "…", "\xff\xfe", "a", "a b", "A  b!", "one two three", "one two\nthree", "西游记EP01", "西 游 记 ep01", "中a文b", "ภาษาไทย", "😀😀 x",
	"on 3 March 2026 we met", strings.Repeat("word ", 60), strings.Repeat("字", 1200), "\x00", "e\u0301", "é", "\u202eabc", strings.Repeat("\u0301", 40),
}

// checkText checks what holds for any text.
func checkText(t *testing.T, m *Maker, text string) {
	d, again := m.text(text), m.text(text)
	if d.Length != len([]rune(text)) {
		t.Fatalf("%q has %d characters", text, d.Length)
	}
	if d.Text != again.Text || d.Digest != again.Digest || d.Set != again.Set || m.Compare(&d.Content, &again.Content) != 0 {
		t.Fatalf("%q is another content when it is read again", text)
	}
	if d.HasFeatures() != (d.Set.Has != [signature.Levels]bool{}) {
		t.Fatalf("%q: features %t, signatures %v", text, d.HasFeatures(), d.Set.Has)
	}
	var r Reading
	m.Read(&d.Content, &r)
	if d.HasFeatures() != (len(r.Terms) > 0) || r.Fine < 0 || r.Fine > 1 {
		t.Fatalf("%q: features %t, and %d terms; share %g", text, d.HasFeatures(), len(r.Terms), r.Fine)
	}
	for i, term := range r.Terms {
		if i > 0 && term.Feature <= r.Terms[i-1].Feature || !(term.Weight > 0 && term.Weight <= math.MaxFloat32) {
			t.Fatalf("%q: term %d is %v", text, i, term)
		}
	}
	if m.HasLevels() && d.HasFeatures() {
		d.Content.Body(func(body string) {
			weights := map[uint64]int{}
			m.EachFeature(body, func(key uint64, feature string) {
				if feature == "" {
					t.Fatalf("%q has an empty feature", text)
				}
				weights[key]++
			})
			if len(weights) != len(r.Terms) {
				t.Fatalf("%q has %d features, and %d terms", text, len(weights), len(r.Terms))
			}
			for _, term := range r.Terms {
				if LogCount(weights[term.Feature]) != term.Weight {
					t.Fatalf("%q: %v occurs %d times", text, term, weights[term.Feature])
				}
			}
		})
	}
}

func FuzzText(f *testing.F) {
	for _, text := range texts {
		f.Add(text)
	}
	all := makers()
	f.Fuzz(func(t *testing.T, text string) {
		for _, m := range all {
			checkText(t, m, text)
		}
	})
}

// FuzzDigest: contents with equal digests are equal. Otherwise the choice among equally near neighbours would depend on the
// order of adding.
func FuzzDigest(f *testing.F) {
	for i, text := range texts {
		f.Add(text, texts[(i+1)%len(texts)])
	}
	f.Add("ann@leeds.org", "ann leeds org")
	f.Add("中 文", "中文")
	f.Add("ＡＢ c", "ab c")
	m := NewMaker(&neardup.Fingerprinter{})
	f.Fuzz(func(t *testing.T, x, y string) {
		a, b := m.text(x), m.text(y)
		if m.Compare(&a.Content, &b.Content) != -m.Compare(&b.Content, &a.Content) {
			t.Fatalf("%q and %q have no order", x, y)
		}
		if a.Digest == b.Digest && m.Compare(&a.Content, &b.Content) != 0 && a.HasFeatures() && b.HasFeatures() {
			t.Fatalf("%q and %q have the same digest, and are different contents", x, y)
		}
		if m.Compare(&a.Content, &b.Content) == 0 && a.HasFeatures() && a.Set != b.Set {
			t.Fatalf("%q and %q are one content with different signatures", x, y)
		}
	})
}

// documents returns contents of all sorts, with a place in a file.
func documents() (all []Document) {
	for _, m := range makers() {
		for _, text := range texts {
			all = append(all, m.text(text))
		}
	}
	records := NewMaker(&neardup.Fingerprinter{Fields: []neardup.Field{{Name: "a", Split: neardup.Words{}}}})
	for _, text := range texts {
		if d, err := records.record(neardup.Record{"a": text}); err == nil {
			all = append(all, d)
		}
	}
	return all
}

// TestFile writes documents to a file, and reads them again.
func TestFile(t *testing.T) {
	t.Parallel()
	for name, m := range makers() {
		file, err := textfile.Create(filepath.Join(t.TempDir(), "texts"), "texts", "1")
		if err != nil {
			t.Fatal(err)
		}
		s := NewStore(m, 0)
		s.Keep(file)
		for i, text := range append(slices.Clone(texts), texts...) {
			d := m.text(text)
			plain := m.text(text)
			b := s.Begin([]*Document{&d})
			if _, err := b.Write(); err != nil {
				t.Fatal(err)
			}
			words := Encode(nil, &Stored{Number: i, Document: d})
			b.Use(1)
			back, err := Decode(words)
			if err != nil {
				t.Fatalf("%s: %q: %v", name, text, err)
			}
			if err := back.Load(file); err != nil {
				t.Fatalf("%s: %q: %v", name, text, err)
			}
			if back.Number != i || back.Text != plain.Text || back.Length != plain.Length || back.Digest != plain.Digest || back.Set != plain.Set || back.HasFeatures() != plain.HasFeatures() ||
				plain.HasFeatures() && m.Compare(&back.Content, &plain.Content) != 0 || back.End() > file.Size() {
				t.Fatalf("%s: %q became %+v", name, text, back)
			}
			var x, y Reading
			m.Read(&back.Content, &x)
			m.Read(&plain.Content, &y)
			if plain.HasFeatures() && (!slices.Equal(x.Terms, y.Terms) || !slices.Equal(x.Words, y.Words) || x.Fine != y.Fine || x.Levels != y.Levels) {
				t.Fatalf("%s: %q is read as %+v", name, text, x)
			}
		}
		if s.Verify(); file.Err() != nil {
			t.Error(file.Err())
		}
		if wasted := s.Wasted(); wasted < 0 || wasted > file.Begin() {
			t.Errorf("%s: %d bytes are wasted", name, wasted)
		}
		file.Close()
	}
}

// FuzzDecode: any words are a document or an error. What they are comes back.
func FuzzDecode(f *testing.F) {
	for i, d := range documents() {
		var b []byte
		for _, x := range Encode(nil, &Stored{Number: i, Document: d}) {
			b = binary.LittleEndian.AppendUint64(b, x)
		}
		if f.Add(b); i%7 == 0 {
			f.Add(b[:len(b)-8])
			f.Add(append(bytes.Clone(b[:len(b)-1]), 0xFF))
			f.Add(append(bytes.Repeat([]byte{0xFF}, 8), b[8:]...))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		words := make([]uint64, len(b)/8)
		for i := range words {
			words[i] = binary.LittleEndian.Uint64(b[8*i:])
		}
		s, err := Decode(words)
		if err != nil {
			return
		}
		if s.Number < 0 || s.Length < 0 || s.at < 0 || s.End() < 0 || s.bytes > 0 && s.at < textfile.Bytes(signature.Bytes(s.form.signed())) {
			t.Fatalf("%x is %+v", words, s)
		}
		again := Encode(nil, &s)
		if s.bytes == 0 {
			words[StoredPlace] = 0
		}
		if !slices.Equal(again, words) {
			t.Fatalf("%x became %x", words, again)
		}
	})
}

// FuzzDecodeOwn: any bytes are terms and words, or an error.
func FuzzDecodeOwn(f *testing.F) {
	for _, d := range documents() {
		if d.own != nil {
			f.Add(encodeOwn(d.own.Terms, d.own.Words))
		}
	}
	f.Add([]byte{0xFF, 0xFF, 0xFF, 0xFF})
	f.Add([]byte{1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0xC0, 0x7F})
	f.Fuzz(func(t *testing.T, b []byte) {
		terms, words, err := decodeOwn(b)
		if err != nil {
			return
		}
		for i, term := range terms {
			if i > 0 && term.Feature <= terms[i-1].Feature || !(term.Weight > 0) || math.IsInf(float64(term.Weight), 0) {
				t.Fatalf("%x: term %d is %v", b, i, term)
			}
		}
		if again := encodeOwn(terms, words); !bytes.Equal(again, b) {
			t.Fatalf("%x became %x", b, again)
		}
	})
}

// pickSome returns up to four texts, often one twice.
func pickSome(rnd *rand.Rand, pool []string) (some []string) {
	for from := rnd.IntN(len(pool)); rnd.IntN(2) == 0 && len(some) < 4; {
		some = append(some, pool[(from+rnd.IntN(3))%len(pool)])
	}
	return some
}

// addSome adds texts to a store, in one batch.
func addSome(t *testing.T, s *Store, m *Maker, texts []string, users map[uint32]int, of map[uint32]string) {
	var docs []*Document
	var was []bool
	for i, text := range texts {
		d := m.text(text)
		_, found := s.Find(&d.Content)
		docs, was = append(docs, &d), append(was, found || slices.Contains(texts[:i], text))
	}
	b := s.Begin(docs)
	if n, err := b.Write(); err != nil || n != len(docs) {
		t.Fatalf("%d of %d texts: %v", n, len(docs), err)
	}
	b.Use(len(docs))
	for i, d := range docs {
		at, isNew := b.Slot(i)
		slot, found := s.Find(&d.Content)
		if isNew == was[i] || !found || at != slot || isNew != (users[at] == 0) {
			t.Fatalf("Use returns %d, %t; Find %d, %t", at, isNew, slot, found)
		}
		users[at]++
		of[at] = texts[i]
	}
}

// TestStore takes and leaves contents at random, and spills them to a temporary file.
func TestStore(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	rnd := rand.New(rand.NewPCG(1, 2))
	m := NewMaker(&neardup.Fingerprinter{})
	s := NewStore(m, 1<<20)
	pool := make([]string, 300)
	for i := range pool {
		pool[i] = strings.Repeat(fmt.Sprintf("text %d is this one ", i/2), 400+i%2*200)
	}
	users := map[uint32]int{}
	of := map[uint32]string{}
	for step := range 4000 {
		text := pool[rnd.IntN(len(pool))]
		d := m.text(text)
		slot, found := s.Find(&d.Content)
		if rnd.IntN(5) < 3 {
			addSome(t, s, m, append(pickSome(rnd, pool), text), users, of)
		} else if found {
			if s.IsLast(slot) != (users[slot] == 1) {
				t.Fatalf("step %d: slot %d has %d users", step, slot, users[slot])
			}
			users[slot]--
			if s.Leave(slot) != (users[slot] == 0) {
				t.Fatalf("step %d: slot %d has %d users", step, slot, users[slot])
			}
		}
	}
	if s.File().InMemory() {
		t.Error("nothing was spilled")
	}
	used := s.Snapshot().Used(m)
	n := 0
	for slot, k := range users {
		if k == 0 {
			continue
		}
		n++
		c := s.At(slot)
		c.Body(func(body string) {
			if body != m.f.Normalizer.Normalize(of[slot]) {
				t.Fatalf("slot %d has another text", slot)
			}
		})
		if !slices.Contains(used, slot) {
			t.Errorf("slot %d is not used", slot)
		}
	}
	if len(used) != n || s.Len() > 310 || s.File().Size() > 8*(s.used+(2<<20)) {
		t.Errorf("%d of %d slots are used; %d of %d bytes", len(used), s.Len(), s.used, s.File().Size())
	}
	for slot, k := range users {
		for range k {
			s.Leave(slot)
		}
	}
	if s.used != 0 || s.digests.Len() != 0 || len(s.free) != s.Len() {
		t.Errorf("left are %d bytes and %d digests", s.used, s.digests.Len())
	}
}

// TestUsed: contents whose digests begin alike are in the order of Compare.
func TestUsed(t *testing.T) {
	m := NewMaker(&neardup.Fingerprinter{})
	s := NewStore(m, 1<<20)
	var texts []string
	for i := range 40 {
		texts = append(texts, fmt.Sprintf("text %d is this one", i*7%40))
	}
	addSome(t, s, m, texts, map[uint32]int{}, map[uint32]string{})
	for slot := range uint32(s.Len()) {
		s.entries.Change(slot).digest = uint64(slot%3) << 32
	}
	used := s.Used(m)
	if len(used) != len(texts) {
		t.Fatalf("%d contents", len(used))
	}
	for i, slot := range used[1:] {
		last := used[i]
		x, y := s.At(last), s.At(slot)
		if last%3 > slot%3 || last%3 == slot%3 && m.Compare(&x, &y) >= 0 {
			t.Errorf("slot %d is before slot %d", last, slot)
		}
	}
}

// TestDecodeTwice: stored terms are invalid if two of them have the same feature.
func TestDecodeTwice(t *testing.T) {
	twice := encodeOwn(neardup.Vector{{Feature: 7, Weight: 1}, {Feature: 7, Weight: 1}}, nil)
	if _, _, err := decodeOwn(twice); err == nil {
		t.Error("no error")
	}
}
