package neardup

import (
	"database/sql"
	"database/sql/driver"
	"encoding"
	"encoding/json"
	"strings"
	"testing"
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
