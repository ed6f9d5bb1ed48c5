package reading

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/neardup/neardup/cmd/neardup/input"
)

// sourcesIn writes files and finds them.
func sourcesIn(t *testing.T, files map[string]string) []input.Source {
	dir := t.TempDir()
	f := input.Finder{Room: 1 << 28}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	f.Find(dir)
	return f.Sources
}

// files are sources of several formats and sizes.
func files() map[string]string {
	all := map[string]string{}
	for i := range 12 {
		var b strings.Builder
		for k := range i * i * 400 {
			switch {
			case k%97 == 5:
				b.WriteString("  \n")
			case i%4 == 1:
				fmt.Fprintf(&b, "%d-%d,%s\n", i, k, strings.Repeat("word ", k%50+1))
			default:
				fmt.Fprintf(&b, `{"id":"%d-%d","text":"%s"}`+"\n", i, k, strings.Repeat("word ", k%50+1))
			}
		}
		name := fmt.Sprintf("%02d.jsonl", i)
		if i%4 == 1 {
			name = fmt.Sprintf("%02d.csv", i)
			all[name] = "id,text\n" + b.String()
			continue
		}
		all[name] = b.String()
	}
	all["03.jsonl"] += strings.Repeat("x", 600_000) + "\n" + `{"id":"behind","text":"a long line"}` // without an end
	return all
}

var columns = input.Columns{ID: "id", Text: "text", WithoutID: "line"}

// TestEach: the items come in the order of the sources, as [input.Source.Read] yields them, with any number of workers, which take any time.
func TestEach(t *testing.T) {
	sources := sourcesIn(t, files())
	var want []string
	for n := range sources {
		s := &sources[n]
		r, done, err := s.Open(nil, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Read(n, r, columns, 1<<20, func(it input.Item) bool {
			want = append(want, describe(&it))
			return true
		}); err != nil {
			t.Fatal(err)
		}
		done()
	}
	if len(want) < 100_000 {
		t.Fatalf("only %d items", len(want))
	}
	for _, workers := range []int{1, 2, 3, 8, 64} {
		for _, room := range []int64{1 << 20, 1 << 28} {
			var read, open, most atomic.Int64
			r := &Reader{Sources: slices.Clone(sources), Cols: columns, MaxLine: 1 << 20, Workers: workers, Room: room, Progress: writer(func(b []byte) {
				read.Add(int64(len(b)))
				if rand.IntN(20) == 0 {
					time.Sleep(time.Duration(rand.IntN(1000)) * time.Microsecond)
				}
			})}
			var got []string
			ends, blank := 0, 0
			err := Each(r, func(worker int, b *input.Block) []string {
				if worker < 0 || worker >= workers {
					t.Errorf("worker %d of %d", worker, workers)
				}
				most.Store(max(most.Load(), open.Add(1)))
				defer open.Add(-1)
				var items []string
				for i := range b.Items {
					items = append(items, describe(&b.Items[i]))
				}
				if rand.IntN(10) == 0 {
					time.Sleep(time.Duration(rand.IntN(500)) * time.Microsecond)
				}
				return items
			}, func(b *Block[[]string]) error {
				got = append(got, b.Made...)
				blank += b.Blank
				if b.Release(); b.Last {
					ends++
				}
				return b.Err
			})
			if err != nil || !slices.Equal(got, want) || ends != len(sources) || blank == 0 {
				t.Fatalf("%d workers, room %d: %d items instead of %d, %d ends, %d blank lines; %v", workers, room, len(got), len(want), ends, blank, err)
			}
			if most.Load() > int64(workers) {
				t.Errorf("%d at once, with %d workers", most.Load(), workers)
			}
			size := int64(0)
			for _, s := range sources {
				size += s.Info.Size()
			}
			if read.Load() < size { // tables are looked at before they are read
				t.Errorf("progress says %d of %d bytes", read.Load(), size)
			}
		}
	}
}

func describe(it *input.Item) string {
	return fmt.Sprintf("%v %d %.30q %d %.60q %v", it.Place, it.Offset, it.Raw, len(it.Raw), it.Row, it.Err)
}

type writer func(b []byte)

func (w writer) Write(b []byte) (int, error) {
	w(b)
	return len(b), nil
}

// TestEachStops: an error of take ends everything, and one of a source does not.
func TestEachStops(t *testing.T) {
	all := files()
	all["05.jsonl.gz"] = "no gzip"
	sources := sourcesIn(t, all)
	enough := errors.New("enough")
	for stop := range 40 {
		taken, wrong := 0, 0
		r := &Reader{Sources: sources, Cols: columns, MaxLine: 1 << 20, Workers: 4, Room: 1 << 28, Progress: io.Discard}
		err := Each(r, func(int, *input.Block) int { return 0 }, func(b *Block[int]) error {
			if taken++; b.Err != nil {
				wrong++
			}
			if taken == stop+1 {
				return enough
			}
			return nil
		})
		if taken > stop && err != enough || err != nil && err != enough || err == nil && wrong != 1 {
			t.Fatalf("%v after %d blocks of %d; %d errors", err, taken, stop+1, wrong)
		}
	}
}

// TestEachStandardInput reads standard input between files.
func TestEachStandardInput(t *testing.T) {
	sources := sourcesIn(t, map[string]string{"a.jsonl": "1\n2\n", "b.jsonl": "6\n"})
	sources = slices.Insert(sources, 1, input.Source{Path: "-", Format: "jsonl", Room: 1 << 28})
	r := &Reader{Sources: sources, First: 1, Cols: columns, MaxLine: 1 << 20, Workers: 3, Room: 1 << 28, Stdin: strings.NewReader("3\n\n4\n5"), Progress: io.Discard}
	var got bytes.Buffer
	err := Each(r, func(_ int, b *input.Block) string {
		var all string
		for _, it := range b.Items {
			all += fmt.Sprintf("%d:%s ", it.Line, it.Raw)
		}
		return all
	}, func(b *Block[string]) error {
		got.WriteString(b.Made)
		return b.Err
	})
	if want := "1:3 3:4 4:5 1:6 "; err != nil || got.String() != want {
		t.Errorf("%q instead of %q; %v", got.String(), want, err)
	}
}
