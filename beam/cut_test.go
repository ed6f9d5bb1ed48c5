package neardupbeam

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/memfs"
	"github.com/parquet-go/parquet-go"
)

// readParts reads a file in parts of a size, and says what it has: documents and notes, sorted, and the number of parts.
func readParts(t *testing.T, path string, o ReadOptions, size int64) (found []string, parts int) {
	t.Helper()
	ctx := t.Context()
	fs, err := filesystem.New(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	bytes, err := fs.Size(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	fn := readFn{o}
	err = (&cutFn{o, size}).ProcessElement(ctx, path, func(size *int64) bool { *size = bytes; return true }, func(p part) {
		parts++
		if p, err = decodePart(encodePart(p)); err != nil {
			t.Fatal(err)
		}
		err := fn.ProcessElement(ctx, p, func(d Document) {
			found = append(found, fmt.Sprintf("%q", d))
		}, func(n Note) {
			found = append(found, fmt.Sprintf("%q", n))
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(found)
	return found, parts
}

// TestParts: whatever the parts of a file are, its documents are the same, with the numbers of their lines, and so are the
// notes.
func TestParts(t *testing.T) {
	body := "\ufeff{\"text\":\"the first\"}\r\n\n\n"
	for i := range 200 {
		switch i % 7 {
		case 3:
			body += "not JSON\n"
		case 5:
			body += fmt.Sprintf(`{"id":%d,"text":"%s"}`+"\r\n", i, strings.Repeat("long ", i))
		default:
			body += "\ufeff{\"text\":\"a mark in the middle\"}\n{\"text\":\"short\"}\n"
		}
	}
	for end, body := range map[string]string{"an end": body, "no end": strings.TrimSuffix(body, "\n"), "one line": strings.Repeat("x", 1000), "ends": strings.Repeat("\n", 50)} {
		local, forward := filepath.Join(t.TempDir(), "a.jsonl"), "memfs://"+strings.ReplaceAll(end, " ", "-")
		if err := os.WriteFile(local, []byte(body), 0o666); err != nil {
			t.Fatal(err)
		}
		memfs.Write(forward, []byte(body))
		for _, format := range []string{JSONLines, Lines} {
			for _, path := range []string{local, forward} {
				o := ReadOptions{Format: format}
				want, parts := readParts(t, path, o, 1<<30)
				if parts != 1 {
					t.Fatalf("%d parts of a small file", parts)
				}
				for _, size := range []int64{1, 2, 10, 100, 1000, 3000} {
					got, parts := readParts(t, path, o, size)
					if !slices.Equal(got, want) {
						t.Errorf("%s, %s, parts of %d: %.200v, not %.200v", end, path, size, got, want)
					}
					if most := len(body)/int(size) + 1; parts > most || path == forward && parts > mostForward || end == "an end" && size < 1000 && parts < 3 {
						t.Errorf("%s, %s, parts of %d: %d parts", end, path, size, parts)
					}
				}
			}
		}
	}
}

// TestPartsOfParquet: the same for groups of rows.
func TestPartsOfParquet(t *testing.T) {
	type row struct {
		Text string `parquet:"text"`
	}
	path, forward := filepath.Join(t.TempDir(), "a.parquet"), "memfs://a.parquet"
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := parquet.NewGenericWriter[row](f)
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		rows := make([]row, r.IntN(200))
		for i := range rows {
			rows[i].Text = fmt.Sprint(r.Uint64())
		}
		if _, err := w.Write(rows); err != nil {
			t.Fatal(err)
		}
		w.Flush()
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f.Close()
	want, _ := readParts(t, path, ReadOptions{}, 1<<30)
	for size, least := range map[int64]int{1: 19, 4000: 5, 30_000: 2} {
		if got, parts := readParts(t, path, ReadOptions{}, size); !slices.Equal(got, want) || parts < least {
			t.Errorf("parts of %d: %d parts, %d documents, not %d", size, parts, len(got), len(want))
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	memfs.Write(forward, b)
	got, parts := readParts(t, forward, ReadOptions{}, 1)
	for i := range got {
		got[i] = strings.ReplaceAll(got[i], forward, path)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) || parts != 1 {
		t.Errorf("forward: %d parts, %d documents, not %d", parts, len(got), len(want))
	}
}

// TestShorterFile: a file that loses lines between the cut and the reading is an error.
func TestShorterFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	if err := os.WriteFile(path, []byte(`{"text":"one"}`+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	memfs.Write("memfs://shorter.jsonl", []byte(`{"text":"one"}`+"\n"))
	for _, p := range []part{{path, 0, 50, 1}, {path, 40, 50, 3}, {"memfs://shorter.jsonl", 0, 50, 1}, {"memfs://shorter.jsonl", 40, 50, 3}} {
		err := (&readFn{}).ProcessElement(context.Background(), p, func(Document) {}, func(Note) {})
		if err == nil || !strings.Contains(err.Error(), "shorter") {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

// FuzzParts cuts any bytes.
func FuzzParts(f *testing.F) {
	f.Add("one\ntwo\n\nthree", int64(4))
	f.Add("\n\n", int64(1))
	f.Add("\ufeffa\r\nb", int64(3))
	f.Fuzz(func(t *testing.T, body string, size int64) {
		if size < 1 || body == "" {
			return
		}
		lines := 0
		next := part{First: 1}
		cutLines(strings.NewReader(body), part{First: 1}, size, func(p part) {
			if p.From != next.To || p.To <= p.From || p.To-p.From < size && p.To < int64(len(body)) || p.First != lines+1 {
				t.Fatalf("part %+v after %+v", p, next)
			}
			lines += strings.Count(body[p.From:p.To], "\n")
			if p.To < int64(len(body)) && body[p.To-1] != '\n' {
				t.Fatalf("part %+v ends in a line", p)
			}
			next = p
		})
		if next.To != int64(len(body)) {
			t.Fatalf("the last part is %+v of %d bytes", next, len(body))
		}
		decodePart([]byte(body))
	})
}
