package input

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestAhead: a large file that is read by several goroutines has the items that it has when one reads it, with short and long lines, a mark, other line ends
// and encodings, and whoever stops early leaves nothing behind.
func TestAhead(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	r := rand.New(rand.NewPCG(3, 4))
	var lines []string
	for size := 0; size < leastAhead*5/4; {
		n := r.IntN(3000)
		if r.IntN(1000) == 0 {
			n = r.IntN(2 * blockSize)
		}
		lines = append(lines, fmt.Sprintf("%d %s", len(lines), strings.Repeat("é", n/2)))
		size += n
	}
	for name, text := range map[string]string{
		"plain":    strings.Join(lines, "\n"),
		"mark":     "\ufeff" + strings.Join(lines, "\r\n") + "\r\n",
		"old":      strings.Join(lines, "\r") + "\r",
		"one line": strings.Repeat("x", 2*leastAhead) + "\nshort\n",
		"latin":    strings.ReplaceAll(strings.Join(lines, "\n"), "é", " une ann\xe9e \xe0 l'\xe9t\xe9, il a \xe9t\xe9 tr\xe8s d\xe9\xe7u"),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "in.txt")
			if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
			f := Finder{Format: "lines"}
			f.Find(path)
			s := &f.Sources[0]
			read := func(from io.Reader, most int) (all []string, err error) {
				err = s.Blocks(0, from, Columns{}, 4*leastAhead, func(b *Block) bool {
					b.Cut()
					for _, it := range b.Items {
						all = append(all, fmt.Sprintf("%d %d %v %s", it.Line, it.Offset, it.Err, bytes.Clone(it.Raw)))
					}
					b.Release()
					return len(all) < most
				})
				return all, err
			}
			open := func() (io.Reader, func()) {
				var n countingWriter
				from, done, err := s.Open(nil, &n)
				if err != nil {
					t.Fatal(err)
				}
				return from, func() {
					if done(); n > 0 && int(n) > len(text) {
						t.Errorf("the progress is %d bytes of %d", n, len(text))
					}
				}
			}
			want, err := read(strings.NewReader(text), 1<<40)
			if err != nil {
				t.Fatal(err)
			}
			from, done := open()
			got, err := read(from, 1<<40)
			if done(); err != nil {
				t.Fatal(err)
			}
			if !from.(*plainFile).begun && s.Encoding == nil {
				t.Error("the file is not read ahead")
			}
			if len(got) != len(want) {
				t.Fatalf("%d items, and by one goroutine %d", len(got), len(want))
			}
			for i := range got {
				if got[i] != want[i] {
					t.Fatalf("item %d: %.80s, and by one goroutine %.80s", i, got[i], want[i])
				}
			}
			from, done = open()
			_, err = read(from, 10)
			if done(); err != nil || ahead.Load() != 0 {
				t.Errorf("stopped early: %v, and %d files are read ahead", err, ahead.Load())
			}
		})
	}
}

type countingWriter int

func (n *countingWriter) Write(b []byte) (int, error) {
	*n += countingWriter(len(b))
	return len(b), nil
}
