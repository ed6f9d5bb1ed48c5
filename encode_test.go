package neardup

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/neardup/neardup/internal/clean"
	"github.com/neardup/neardup/internal/format"
)

var (
	_ encoding.TextMarshaler     = Fingerprint64(0)
	_ encoding.TextAppender      = Fingerprint128{}
	_ encoding.BinaryAppender    = Fingerprint64(0)
	_ encoding.BinaryUnmarshaler = (*Fingerprint128)(nil)
	_ driver.Valuer              = Fingerprint64(0)
	_ sql.Scanner                = (*Fingerprint128)(nil)
)

func TestEncoding(t *testing.T) {
	a := Fingerprint64(0x800d8e90e45cc488)
	b := Fingerprint128{0x20302202, 0x800d8e90e45cc488}
	for got, want := range map[string]string{
		a.String(): "800d8e90e45cc488",
		b.String(): "0000000020302202800d8e90e45cc488",
		a.Bits():   "1000000000001101100011101001000011100100010111001100010010001000",
		b.Bits():   strings.Repeat("0", 34) + "100000001100000010001000000010" + a.Bits(),
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	doc, err := json.Marshal(map[string]any{"a": a, "b": &b})
	if want := `{"a":"800d8e90e45cc488","b":"0000000020302202800d8e90e45cc488"}`; err != nil || string(doc) != want {
		t.Errorf("JSON %s %v, want %s", doc, err, want)
	}
	var back struct {
		A Fingerprint64
		B Fingerprint128
	}
	if err := json.Unmarshal(doc, &back); err != nil || back.A != a || back.B != b {
		t.Errorf("JSON gives %+v, %v", back, err)
	}
}

func TestParse(t *testing.T) {
	for _, s := range []string{
		"", "0", "800d8e90e45cc48", "800d8e90e45cc4888", "800d8e90e45cc48g", "+00d8e90e45cc488", "-00d8e90e45cc488",
		"0x0d8e90e45cc488", "8_0d8e90e45cc488", strings.Repeat("2", 64), strings.Repeat("0", 65), strings.Repeat("é", 8),
	} {
		if fp, err := parseFingerprint[Fingerprint64](s); err == nil {
			t.Errorf("parseFingerprint[Fingerprint64](%q) = %v", s, fp)
		}
		fp := Fingerprint64(7)
		if fp.UnmarshalText([]byte(s)) == nil || fp != 7 {
			t.Errorf("UnmarshalText(%q) gave no error or changed the receiver to %v", s, fp)
		}
	}
	for _, s := range []string{"", "0", strings.Repeat("0", 31), strings.Repeat("0", 33), strings.Repeat("0", 64), strings.Repeat("z", 128), strings.Repeat("2", 128)} {
		if fp, err := parseFingerprint[Fingerprint128](s); err == nil {
			t.Errorf("parseFingerprint[Fingerprint128](%q) = %v", s, fp)
		}
	}
	if fp, err := parseFingerprint[Fingerprint64]("800D8E90E45CC488"); err != nil || fp != 0x800d8e90e45cc488 {
		t.Errorf("upper case: %v, %v", fp, err)
	}
}

func TestBinary(t *testing.T) {
	var a Fingerprint64
	var b Fingerprint128
	for _, n := range []int{0, 7, 9, 15, 17} {
		if a.UnmarshalBinary(make([]byte, n)) == nil || b.UnmarshalBinary(make([]byte, n)) == nil {
			t.Errorf("%d bytes are taken for a fingerprint", n)
		}
	}
}

func TestSQL(t *testing.T) {
	a := Fingerprint64(1<<63 | 5)
	v, _ := a.Value()
	if v != int64(-1<<63+5) {
		t.Errorf("Value = %v", v)
	}
	for _, src := range []any{int64(-1<<63 + 5), uint64(1<<63 | 5), []byte("-9223372036854775803"), "9223372036854775813"} {
		var got Fingerprint64
		if err := got.Scan(src); err != nil || got != a {
			t.Errorf("Scan(%T %v) = %v, %v", src, src, got, err)
		}
	}
	b := Fingerprint128{1, 2}
	v, _ = b.Value()
	for _, src := range []any{v, string(v.([]byte)), b.String(), []byte(b.String())} {
		var got Fingerprint128
		if err := got.Scan(src); err != nil || got != b {
			t.Errorf("Scan(%T %v) = %v, %v", src, src, got, err)
		}
	}
	for _, src := range []any{nil, 1.5, true, "", "x", []byte("12 "), "99999999999999999999", strings.Repeat("é", 200)} {
		if a.Scan(src) == nil || b.Scan(src) == nil {
			t.Errorf("Scan(%v) gave no error", src)
		}
	}
	if a != 1<<63|5 || b != (Fingerprint128{1, 2}) {
		t.Error("a failed Scan changed its receiver")
	}
}

func TestTruncate(t *testing.T) {
	fp := Fingerprint128{^uint64(0), ^uint64(0)}
	for n := range 129 {
		got := fp.Truncate(n)
		if got.Distance(Fingerprint128{}) != n || strings.Contains(got.Bits(), "10") {
			t.Errorf("Truncate(%d) = %s", n, got.Bits())
		}
		if n <= 64 && uint64(Fingerprint64(fp.Lo).Truncate(n)) != got.Lo {
			t.Errorf("Truncate(%d) differs between the widths", n)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("800d8e90e45cc488")
	f.Add("0000000020302202800d8e90e45cc488")
	f.Add(Fingerprint64(5).Bits())
	f.Add(Fingerprint128{5, 6}.Bits())
	f.Add("-9223372036854775803")
	f.Fuzz(func(t *testing.T, s string) {
		if fp, err := parseFingerprint[Fingerprint64](s); err == nil && !strings.EqualFold(fp.String(), s) && fp.Bits() != s {
			t.Errorf("%q was read as %v", s, fp)
		}
		if fp, err := parseFingerprint[Fingerprint128](s); err == nil && !strings.EqualFold(fp.String(), s) && fp.Bits() != s {
			t.Errorf("%q was read as %v", s, fp)
		}
		var a, again Fingerprint64
		if a.Scan(s) == nil {
			if v, _ := a.Value(); again.Scan(v) != nil || a != again {
				t.Errorf("%q was scanned as %v and then %v", s, a, again)
			}
		}
		var b, back Fingerprint128
		if b.Scan([]byte(s)) == nil {
			if v, _ := b.Value(); back.Scan(v) != nil || b != back {
				t.Errorf("%q was scanned as %v and then %v", s, b, back)
			}
		}
	})
}

func write64(t testing.TB, version string, fps map[string]Fingerprint64) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := WriteFingerprints(&buf, version, entriesOf(fps)); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func read64(r io.Reader, version string) (map[string]Fingerprint64, error) {
	fps := map[string]Fingerprint64{}
	err := ReadFingerprints(r, version, func(id string, fp Fingerprint64) error { fps[id] = fp; return nil })
	return fps, err
}

// TestFingerprintFile: what was written is read, by small steps too, through an
// index and in both widths.
func TestFingerprintFile(t *testing.T) {
	version, err := new(Fingerprinter).Version()
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 1, 2, 100, 50_000} {
		ix, _ := NewIndex[string, Fingerprint128](3, IndexOptions{})
		for i := range n {
			ix.Add(fmt.Sprintf("id-%d", i), Fingerprint128{uint64(i) * 0x9E3779B97F4A7C15, uint64(i)})
		}
		must(ix.Delete("id-1"))
		var buf bytes.Buffer
		if err := WriteFingerprints(&buf, version, ix.All()); err != nil {
			t.Fatal(err)
		}
		again, _ := NewIndex[string, Fingerprint128](3, IndexOptions{})
		if err := ReadFingerprints(iotest.HalfReader(&buf), version, again.Add); err != nil {
			t.Fatal(err)
		}
		if got, want := maps.Collect(valuesOf(again.All())), maps.Collect(valuesOf(ix.All())); !maps.Equal(got, want) || len(got) != ix.Len() {
			t.Fatalf("%d of %d fingerprints", len(got), len(want))
		}
	}
	fps := map[string]Fingerprint64{"": 0, "a": 1, strings.Repeat("long", format.MaxID/4): ^Fingerprint64(0), "\xff\n\x00": 7}
	data := write64(t, version, fps)
	if got, err := read64(bytes.NewReader(data), version); err != nil || !maps.Equal(got, fps) {
		t.Errorf("%d of %d fingerprints, %v", len(got), len(fps), err)
	}
	long := map[string]Fingerprint64{strings.Repeat("x", format.MaxID+1): 1}
	if err := WriteFingerprints(io.Discard, version, entriesOf(long)); err == nil {
		t.Error("an id that is too long was written")
	}
}

// TestDamagedFile: whatever is cut off, changed, moved or added is noticed, and
// nothing wrong is read.
func TestDamagedFile(t *testing.T) {
	fps := map[string]Fingerprint64{}
	for i := range 200 {
		fps[fmt.Sprint(i)] = Fingerprint64(i) * 0x9E3779B97F4A7C15
	}
	data := write64(t, "v=1", fps)
	check := func(what string, data []byte) {
		t.Helper()
		got, err := read64(bytes.NewReader(data), "v=1")
		if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrVersion) {
			t.Fatalf("%s: %v", what, err)
		}
		for id, fp := range got {
			if fps[id] != fp {
				t.Fatalf("%s: %q has %v", what, id, fp)
			}
		}
	}
	for i := range data {
		check(fmt.Sprintf("cut at byte %d of %d", i, len(data)), data[:i])
		for _, bit := range []byte{1, 0x80} {
			damaged := bytes.Clone(data)
			damaged[i] ^= bit
			check(fmt.Sprintf("bit %#x of byte %d", bit, i), damaged)
		}
	}
	if _, err := read64(iotest.ErrReader(io.ErrClosedPipe), "v=1"); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("error of the reader: %v", err)
	}
	if _, err := read64(io.MultiReader(bytes.NewReader(data[:100]), iotest.ErrReader(io.ErrClosedPipe)), "v=1"); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("error of the reader: %v", err)
	}
	for what, data := range map[string][]byte{
		"another file": []byte("id,text\n1,a\n"), "empty": nil, "two files": append(bytes.Clone(data), data...), "garbage": append(bytes.Clone(data), 0),
	} {
		if _, err := read64(bytes.NewReader(data), "v=1"); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := ReadFingerprints(bytes.NewReader(data), "v=1", func(string, Fingerprint128) error { t.Error("read"); return nil }); !errors.Is(err, ErrVersion) || !strings.Contains(err.Error(), "it holds fingerprints64, not fingerprints128") {
		t.Errorf("other width: %v", err)
	}
	if _, err := new(Boilerplate).ReadFrom(bytes.NewReader(data)); !errors.Is(err, ErrVersion) {
		t.Errorf("other kind: %v", err)
	}
	if _, err := read64(strings.NewReader("neardup\x00\x02"), "v=1"); !errors.Is(err, ErrVersion) {
		t.Errorf("other format: %v", err)
	}
	if _, err := read64(bytes.NewReader(data[:len(data)-1]), "v=1"); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("cut: %v", err)
	}
	for _, version := range []string{"", "a\nb", "\x1b[2J", "\u2028", strings.Repeat("x", format.MaxVersion+1)} {
		if err := WriteFingerprints(io.Discard, version, entriesOf(fps)); err == nil {
			t.Errorf("version %.20q was written", version)
		}
		var forged bytes.Buffer // by a program of somebody else
		f := format.NewWriter(&forged, "fingerprints64", version)
		f.Close()
		if _, err := read64(&forged, "v=1"); !errors.Is(err, ErrDamaged) || strings.ContainsAny(err.Error(), "\x1b\u2028") {
			t.Errorf("version %.20q was read: %v", version, err)
		}
	}
	if err := WriteFingerprints(&limited{50}, "v=1", entriesOf(fps)); err == nil {
		t.Error("a full disk was not noticed")
	}
}

// limited is a disk of n bytes.
type limited struct{ n int }

func (l *limited) Write(p []byte) (int, error) {
	if l.n -= len(p); l.n < 0 {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}

// FuzzFile reads anything as a file, as it is and with its checksums put right.
func FuzzFile(f *testing.F) {
	f.Add(write64(f, "v=1", map[string]Fingerprint64{"a": 1, "b": 2}))
	f.Add([]byte("neardup\x00\x01"))
	var b BoilerplateBuilder
	b.Add("x\ny")
	b.Add("x\ny")
	var buf bytes.Buffer
	if _, err := b.Build(2).WriteTo(&buf); err != nil {
		f.Fatal(err)
	}
	f.Add(buf.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		for range 2 {
			read64(bytes.NewReader(data), "v=1")
			ReadFingerprints(bytes.NewReader(data), "v=1", func(id string, fp Fingerprint128) error { return nil })
			b, c := &Boilerplate{}, &Boilerplate{}
			if n, err := b.ReadFrom(bytes.NewReader(data)); err == nil && n == int64(len(data)) {
				var again bytes.Buffer
				b.WriteTo(&again)
				if _, err := c.ReadFrom(&again); err != nil || fmt.Sprint(b) != fmt.Sprint(c) {
					t.Fatal("what was read cannot be read again", err)
				}
			}
			data = forge("fingerprints64", "v=1", data)
		}
	})
}

// forge makes a file of data whose checksums fit, so that what is behind them is
// tested: each byte value is the length of a block that follows.
func forge(kind, version string, data []byte) []byte {
	var out bytes.Buffer
	w := format.NewWriter(&out, kind, version)
	for len(data) > 0 {
		n := min(int(data[0]), len(data)-1)
		w.Block = append(w.Block, data[1:1+n]...)
		w.Records += uint64(n % 3)
		w.Flush()
		data = data[1+n:]
	}
	w.Close()
	return out.Bytes()
}

// nested are shingles of shingles.
func nested(n int) Tokenizer {
	tok := Tokenizer(Shingles{})
	for range n {
		tok = Shingles{Of: tok}
	}
	return tok
}

// TestOutOfRange: what no constant names is refused: by an error where there is one, else by a
// panic that says what it is.
func TestOutOfRange(t *testing.T) {
	for i := range 256 {
		for what, n := range map[string]Normalizer{"Form": {Form: Form(i)}, "URLs": {URLs: Treatment(i)}, "Emails": {Emails: Treatment(i)}, "Dates": {Dates: Treatment(i)}, "Numbers": {Numbers: Treatment(i)}} {
			f := Fingerprinter{Normalizer: n}
			refused := i > int(TreatmentRemove) && what != "Form" || i > int(FormNFKC)
			_, errVersion := f.Version()
			_, errStream := NewStream[Fingerprint64](&f)
			for _, err := range []error{errVersion, errStream, f.Check()} {
				if (err != nil) != refused {
					t.Errorf("%s %d: %v", what, i, err)
				}
			}
			if message := panics(func() { f.Sum64(Text("a")) }); (message != "") != refused || refused && !strings.HasPrefix(message, "neardup: Normalizer") {
				t.Errorf("%s %d: Sum64 panics with %q", what, i, message)
			}
		}
	}
	if _, err := GroupPairs(1, func(func(Pair[int], error) bool) {}, 9, nil); err == nil {
		t.Error("Linkage(9) is ignored")
	}
}

// panics returns the message that a call panics with, or "".
func panics(call func()) (message string) {
	defer func() {
		if r := recover(); r != nil {
			message = fmt.Sprint(r)
		}
	}()
	call()
	return ""
}

// callZero calls a method with zero values, and loops over what it returns.
func callZero(method reflect.Value) {
	of := method.Type()
	in := make([]reflect.Value, of.NumIn())
	for i := range in {
		if in[i] = reflect.Zero(of.In(i)); of.In(i) == reflect.TypeFor[context.Context]() {
			in[i] = reflect.ValueOf(bg)
		}
	}
	if out := method.Call(in); out[0].Kind() == reflect.Func {
		yield := reflect.MakeFunc(out[0].Type().In(0), func([]reflect.Value) []reflect.Value { return []reflect.Value{reflect.ValueOf(true)} })
		out[0].Call([]reflect.Value{yield})
	}
}

// TestZeroValues: they work, or say which constructor makes one that does.
func TestZeroValues(t *testing.T) {
	calls := map[string]func(){"Segmenter.Tokens": func() { _ = slices.Collect(new(Segmenter).Tokens("一")) }}
	for _, index := range []any{new(Index[int, Fingerprint64]), new(Index[int, Fingerprint128]), new(SignatureIndex[int]), new(VectorIndex[int])} {
		for i := range reflect.TypeOf(index).NumMethod() {
			name := fmt.Sprintf("%T.%s", index, reflect.TypeOf(index).Method(i).Name)
			calls[name] = func() { callZero(reflect.ValueOf(index).Method(i)) }
		}
	}
	for name, call := range calls {
		message := panics(call)
		if strings.HasSuffix(name, ".Distance") || strings.HasSuffix(name, ".Similarity") || strings.HasSuffix(name, ".Banding") {
			continue // they only return a field
		}
		if !strings.Contains(message, "New") {
			t.Errorf("%s: %q", name, message)
		}
	}
}

func TestVersion(t *testing.T) {
	seeded, err := SeededHash([]byte("a secret of some length"))
	if err != nil {
		t.Fatal(err)
	}
	other, _ := SeededHash([]byte("another secret, also long"))
	own := perToken(func(Token) float64 { return 2 })
	lines := &Boilerplate{lines: clean.Lines{Sorted: []uint64{1, 2}}}
	for _, test := range []struct {
		f    Fingerprinter
		want string
	}{
		{Fingerprinter{}, "neardup=2 unicode=15.0.0 normalizer=none tokenizer=shingles(words,2) hash=xxh3 weight=1 tie=0"},
		{Fingerprinter{Tokenizer: Shingles{Of: Words{}, N: 2}}, "neardup=2 unicode=15.0.0 normalizer=none tokenizer=shingles(words,2) hash=xxh3 weight=1 tie=0"},
		{Fingerprinter{Tokenizer: Shingles{Of: NGrams{}, N: 3}, TiesOne: true}, "neardup=2 unicode=15.0.0 normalizer=none tokenizer=shingles(ngrams(3),3) hash=xxh3 weight=1 tie=1"},
		{Fingerprinter{Tokenizer: Words{}, Weight: own, Custom: "double-1"}, "neardup=2 unicode=15.0.0 normalizer=none tokenizer=words hash=xxh3 weight=(count*custom) tie=0 custom=double-1"},
		{Fingerprinter{Normalizer: Normalizer{HTML: true, Form: FormNFKC, Fold: true, URLs: TreatmentMask, Emails: TreatmentRemove, Dates: TreatmentMask, Numbers: TreatmentRemove, Space: true, Boilerplate: lines}, Hash: seeded},
			"neardup=2 unicode=15.0.0 normalizer=html(c45c7e10),nfkc,fold,urls:mask,emails:remove,dates:mask,numbers:remove,space,boilerplate(c4846c74c4b320ad) tokenizer=shingles(words,2) hash=xxh3-seeded:5c70f04ce226c9d5 weight=1 tie=0"},
	} {
		got, err := test.f.Version()
		if err != nil || got != test.want {
			t.Errorf("%s, %v; want %s", got, err, test.want)
		}
		if err := test.f.CheckVersion(got); err != nil {
			t.Errorf("%s does not compare with itself: %v", got, err)
		}
	}
	for _, f := range []Fingerprinter{
		{Tokenizer: noThe{}}, {Tokenizer: Shingles{Of: noThe{}}}, {Weight: own}, {Hash: Hash{Sum64: seeded.sum64()}}, {Custom: "two words"}, {Custom: "line\nbreak"}, {Custom: "\u2028"}, {Custom: "\u0085tie=1"},
		{Normalizer: Normalizer{Form: 77}}, {Normalizer: Normalizer{Dates: 9}}, {Tokenizer: (*Segmenter)(nil)}, {Tokenizer: &Segmenter{}}, {Tokenizer: nested(1000)},
	} {
		if v, err := f.Version(); err == nil {
			t.Errorf("%v has version %s", f.Custom, v)
		}
	}
	version := func(f Fingerprinter) string {
		v, err := f.Version()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	f := Fingerprinter{Hash: seeded}
	for stored, want := range map[string]string{
		version(Fingerprinter{Hash: seeded, Tokenizer: Words{}}): "tokenizer=words, not shingles(words,2); fingerprint the stored texts again",
		version(Fingerprinter{Hash: other}):                      "a different secret;",
		version(Fingerprinter{}):                                 "hash=xxh3, not xxh3-seeded:",
		version(Fingerprinter{Hash: seeded, Custom: "x"}):        "custom=x, not none;",
		strings.Replace(version(f), "unicode=15.0.0 ", "", 1):    "unicode was not set, now 15.0.0;",
		strings.Replace(version(f), "neardup=2", "neardup=3", 1): "neardup=3, not 2;",
		version(f) + " ": "written differently",
		"":               "neardup was not set, now ",
		"neardup=" + strings.Repeat("9", 100_000) + " \x1b[2J=\x00": "99…",
	} {
		err := f.CheckVersion(stored)
		if !errors.Is(err, ErrVersion) || !strings.Contains(err.Error(), want) || len(err.Error()) > 2000 || strings.ContainsAny(err.Error(), "\x1b\x00") {
			t.Errorf("stored %.200q: %v; want %s", stored, err, want)
		}
	}
	data := write64(t, version(Fingerprinter{}), map[string]Fingerprint64{"a": 1})
	if _, err := read64(bytes.NewReader(data), version(f)); !errors.Is(err, ErrVersion) {
		t.Errorf("a file of another version: %v", err)
	}
}

// TestSeededHash: another secret gives other fingerprints, and no secret is shown.
func TestSeededHash(t *testing.T) {
	if _, err := SeededHash([]byte("fifteen bytes..")); err == nil {
		t.Error("a short secret was taken")
	}
	text := corpus(t, "en")[0].Text
	seen := map[Fingerprint64]bool{Sum64(text): true}
	for i := range 100 {
		h, err := SeededHash(fmt.Appendf(nil, "secret number %4d", i))
		if err != nil {
			t.Fatal(err)
		}
		f := Fingerprinter{Hash: h}
		fp := f.Sum64(Text(text))
		seen[fp] = true
		g := Fingerprinter{Hash: h, Weight: perToken(func(Token) float64 { return 1 })}
		if g.Sum64(Text(text)) != fp || g.Sum128(Text(text)) != f.Sum128(Text(text)) {
			t.Fatal("the general path differs")
		}
		for _, format := range []string{"%v", "%+v", "%#v"} {
			if s := fmt.Sprintf(format, f); strings.Contains(s, h.key.check) || strings.Contains(s, fmt.Sprint(h.key.seed)) || strings.Contains(s, fmt.Sprintf("%x", h.key.seed)) {
				t.Fatalf("printed: %s", s)
			}
		}
	}
	if len(seen) != 101 {
		t.Errorf("%d different fingerprints", len(seen))
	}
	// Near stays near: the distance of two versions has the same mean.
	a, b := corpus(t, "en")[0].Text, corpus(t, "en")[0].Text
	b = strings.Replace(b, " the ", " that ", 3)
	rnd, sum := rand.New(rand.NewPCG(1, 1)), 0
	for range 200 {
		h, _ := SeededHash(fmt.Appendf(nil, "%020d", rnd.Uint64()))
		f := Fingerprinter{Hash: h}
		sum += f.Sum64(Text(a)).Distance(f.Sum64(Text(b)))
	}
	if mean := float64(sum) / 200; mean < 1 || mean > 8 {
		t.Errorf("mean distance %v", mean)
	}
}

// TestReadFingerprintsStops: the error of the function that takes them ends the reading.
func TestReadFingerprintsStops(t *testing.T) {
	var b bytes.Buffer
	if err := WriteFingerprints(&b, "v", entriesOf(map[string]Fingerprint64{"a": 1, "b": 2})); err != nil {
		t.Fatal(err)
	}
	full, calls := errors.New("full"), 0
	err := ReadFingerprints(&b, "v", func(string, Fingerprint64) error { calls++; return full })
	if !errors.Is(err, full) || calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
}
