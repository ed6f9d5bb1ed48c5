package dedup

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/neardup/neardup"
)

// TestReopen: the index serves whatever changed since, whichever documents it has, and one of another snapshot is passed over.
func TestReopen(t *testing.T) {
	t.Parallel()
	texts := revisedTexts(200)
	path := filepath.Join(t.TempDir(), "documents")
	d, memory := opened[string](t, path, Options{}), made[string](t, Options{})
	lines := func(d *Deduplicator[string], text string) (all []string) {
		for _, m := range listed(d.Search(bg, neardup.Text(text))) {
			all = append(all, fmt.Sprintf("%s %x %x %v", m.ID, m.Similarity, m.Probability, m.Kind))
		}
		return all
	}
	both := func(change func(d *Deduplicator[string]) error) {
		t.Helper()
		if err := change(d); err != nil {
			t.Fatal(err)
		}
		if err := change(memory); err != nil {
			t.Fatal(err)
		}
	}
	again := func(what string, indexed bool) {
		t.Helper()
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		d = opened[string](t, path, Options{})
		if d.unread == indexed {
			t.Fatalf("%s: opened with an index: %t", what, !d.unread)
		}
		for _, text := range texts[:20] {
			sameLines(t, what+", a search", lines(d, text), lines(memory, text))
		}
		sameFacts(t, what, factsOf(d.Pairs(bg)), factsOf(memory.Pairs(bg)))
		for _, id := range []string{"3", "55", "new", "gone"} {
			x, ok, err := d.Get(id)
			y, there, _ := memory.Get(id)
			if ok != there || err != nil || x.Length != y.Length {
				t.Errorf("%s: document %q is %v, %t, error %v; not %v, %t", what, id, x, ok, err, y, there)
			}
		}
		if err := d.Verify(); err != nil {
			t.Fatal(err)
		}
	}
	for i, text := range texts[:150] {
		both(func(d *Deduplicator[string]) error { return d.Add(fmt.Sprint(i), neardup.Text(text)) })
	}
	again("a snapshot", true)
	old, err := os.ReadFile(path + ".index")
	if err != nil {
		t.Fatal(err)
	}
	both(func(d *Deduplicator[string]) error { _, err := d.Delete("3"); return err })
	both(func(d *Deduplicator[string]) error { return d.Add("55", neardup.Text(texts[160])) })
	both(func(d *Deduplicator[string]) error { return d.Add("new", neardup.Text(texts[56])) })
	both(func(d *Deduplicator[string]) error {
		_, err := d.SearchAndAdd(bg, "7", neardup.Text(texts[170]))
		return err
	})
	again("changes in the journal", true)
	both(func(d *Deduplicator[string]) error { _, err := d.Delete("new"); return err })
	again("more changes", true)
	both(func(d *Deduplicator[string]) error { return d.Compact(bg) })
	again("another snapshot", true)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".index", old, 0o666); err != nil {
		t.Fatal(err)
	}
	d = opened[string](t, path, Options{})
	again("the index of the snapshot before", false)
	again("made again", true)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	// Another file that has the name is left alone, and said.
	if err := os.WriteFile(path+".index", []byte("somebody else's"), 0o666); err != nil {
		t.Fatal(err)
	}
	d = opened[string](t, path, Options{})
	sameFacts(t, "without an index", factsOf(d.Pairs(bg)), factsOf(memory.Pairs(bg)))
	if err := d.Close(); err == nil {
		t.Error("an index could not be written, and Close returns no error")
	}
	if b, err := os.ReadFile(path + ".index"); string(b) != "somebody else's" {
		t.Errorf("another file is now %q, error %v", b, err)
	}
}
