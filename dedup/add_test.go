package dedup

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/neardup/neardup"
)

// arrivalsOf returns documents of which some are equal, some replace others, and some have no features.
func arrivalsOf(n int) (ids []string, texts []neardup.Text) {
	rnd := rand.New(rand.NewPCG(9, uint64(n)))
	for i := range n {
		id, of := fmt.Sprintf("document %d", i), i
		switch rnd.IntN(12) {
		case 0:
			id = fmt.Sprintf("document %d", rnd.IntN(i+1))
		case 1, 2:
			of = max(i-rnd.IntN(30), 0)
		case 3:
			of = rnd.IntN(i + 1)
		}
		text := fmt.Sprintf("this is the text number %d of some thousand, and it says little else than %d", of, of*of)
		if i%50 == 7 {
			text = "…"
		}
		ids, texts = append(ids, id), append(texts, neardup.Text(text))
	}
	return ids, texts
}

// TestAddAllFiles: files are the same, byte for byte, for any number of processors, and if documents are added one by one.
func TestAddAllFiles(t *testing.T) {
	ids, texts := arrivalsOf(3000)
	written := func(t *testing.T, fill func(d *Deduplicator[string]) error) map[string][]byte {
		path := filepath.Join(t.TempDir(), "d")
		d, err := Open[string](path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := fill(d); err != nil {
			t.Fatal(err)
		}
		files := map[string][]byte{}
		read := func(name string) {
			b, err := os.ReadFile(path + name)
			if err != nil {
				t.Fatal(err)
			}
			files[name] = b
		}
		if err := d.Sync(); err != nil {
			t.Fatal(err)
		}
		read(".journal")
		if err := d.Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"", ".texts-1", ".index"} {
			read(name)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		return files
	}
	synctest.Test(t, func(t *testing.T) { // where it is always the same time
		want := written(t, func(d *Deduplicator[string]) error {
			for i, id := range ids {
				if err := d.Add(id, texts[i]); err != nil {
					return err
				}
			}
			return nil
		})
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
		for _, processors := range []int{1, 2, 3, 8} {
			runtime.GOMAXPROCS(processors)
			got := written(t, func(d *Deduplicator[string]) error {
				return d.AddAll(context.Background(), func(yield func(string, neardup.Document) bool) {
					for i, id := range ids {
						if !yield(id, texts[i]) {
							return
						}
					}
				})
			})
			for name, b := range want {
				if !bytes.Equal(b, got[name]) {
					t.Errorf("%d processors: %q is another file, of %d bytes instead of %d", processors, name, len(got[name]), len(b))
				}
			}
		}
	})
}

// TestAddAllEnds: what came before the context ended is stored.
func TestAddAllEnds(t *testing.T) {
	d, _ := New[int](Options{})
	ctx, cancel := context.WithCancel(context.Background())
	err := d.AddAll(ctx, func(yield func(int, neardup.Document) bool) {
		for i := range 5 {
			if i == 3 {
				cancel()
			}
			if !yield(i, neardup.Text(fmt.Sprint("text number ", i))) {
				return
			}
		}
	})
	if err != context.Canceled || d.Len() != 3 {
		t.Errorf("got %v and %d documents, want 3", err, d.Len())
	}
}
