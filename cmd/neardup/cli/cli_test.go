package cli

import (
	"bytes"
	"fmt"
	"io"
	"testing"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// FuzzEscape: what was escaped comes back, and is safe in a column.
func FuzzEscape(f *testing.F) {
	for _, id := range []string{"", "a", "a\tb\nc\rd", `\`, `\t`, `a\x41`, "\x00\x1b[31m", "\u0085\u202e\u2028", "中文\uFFFD", "\\u202e"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		escaped := Escape(id)
		for _, r := range escaped {
			if isControl(r) {
				t.Fatalf("%q has %q", escaped, r)
			}
		}
		if back := Unescape(escaped); utf8.ValidString(id) && back != id {
			t.Fatalf("%q became %q and then %q", id, escaped, back)
		}
		Unescape(id) // of anything
	})
}

// TestDecompressCut: what is compressed and was cut off anywhere, or has another byte, is an error or the same text.
func TestDecompressCut(t *testing.T) {
	var text []byte
	for i := range 300 {
		text = fmt.Appendf(text, "line %d of a long file, with %d\n", i, i*7919)
	}
	for _, form := range []struct {
		name string
		to   func(io.Writer) (io.WriteCloser, error)
	}{
		{"x.gz", func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil }},
		{"x.zst", func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) }},
		{"x.xz", func(w io.Writer) (io.WriteCloser, error) {
			return xz.WriterConfig{DictCap: 1 << 12, BlockSize: 4000}.NewWriter(w)
		}},
	} {
		var packed bytes.Buffer
		w, err := form.to(&packed)
		if err != nil {
			t.Fatal(err)
		}
		w.Write(text)
		w.Close()
		read := func(b []byte) ([]byte, error) {
			r, finish, err := Decompress(bytes.NewReader(b), form.name, 0)
			if err != nil {
				return nil, err
			}
			defer finish()
			return io.ReadAll(r)
		}
		whole := packed.Bytes()
		if got, err := read(whole); err != nil || !bytes.Equal(got, text) {
			t.Fatalf("%s: %d bytes, %v", form.name, len(got), err)
		}
		for i := 1; i < len(whole); i++ {
			if got, err := read(whole[:i]); err == nil {
				t.Errorf("%s: %d of %d bytes give a text of %d bytes", form.name, i, len(whole), len(got))
			}
			damaged := bytes.Clone(whole)
			damaged[i] ^= 1 << (i % 8)
			if got, err := read(damaged); err == nil && !bytes.Equal(got, text) {
				t.Errorf("%s: with another byte %d, %d bytes", form.name, i, len(got))
			}
		}
	}
}
