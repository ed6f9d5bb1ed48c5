package dedup

import (
	"path/filepath"
	"testing"

	"github.com/neardup/neardup"
)

// TestText: the text of a document can be read again, as it is compared, in memory and from files that were closed.
func TestText(t *testing.T) {
	options := Options{Fingerprinter: neardup.Fingerprinter{Normalizer: neardup.Normalizer{HTML: true}}}
	path := filepath.Join(t.TempDir(), "d")
	check := func(d *Deduplicator[string]) {
		t.Helper()
		for id, want := range map[string]string{"a": "One two three.\n", "copy": "One two three.\n", "replaced": "new text here", "empty": "", "none": "", "gone": ""} {
			text, ok, err := d.Text(id)
			if text != want || ok != (id != "none" && id != "gone") || err != nil {
				t.Errorf("%s: %q, %t, %v", id, text, ok, err)
			}
		}
	}
	fill := func(d *Deduplicator[string]) {
		t.Helper()
		for _, doc := range [][2]string{{"a", "<p>One two three.</p>"}, {"copy", "one TWO three"}, {"replaced", "old"}, {"replaced", "new text here"}, {"empty", "?!"}, {"gone", "something else"}} {
			if err := d.Add(doc[0], neardup.Text(doc[1])); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := d.Delete("gone"); err != nil {
			t.Fatal(err)
		}
	}
	d, err := New[string](options)
	if err != nil {
		t.Fatal(err)
	}
	fill(d)
	check(d)
	if d, err = Open[string](path, options); err != nil {
		t.Fatal(err)
	}
	fill(d)
	check(d)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := d.Text("a"); err == nil {
		t.Error("a closed one has texts")
	}
	if d, err = Open[string](path, options); err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	check(d)
	records, _ := New[string](Options{Fingerprinter: neardup.Fingerprinter{Fields: []neardup.Field{{Name: "name"}}}})
	if err := records.Add("r", neardup.Record{"name": "Jane"}); err != nil {
		t.Fatal(err)
	}
	if text, ok, err := records.Text("r"); text != "" || !ok || err != nil {
		t.Errorf("of a record: %q, %t, %v", text, ok, err)
	}
}
