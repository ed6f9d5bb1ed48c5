package dedup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/neardup/neardup"
)

// This file tests what a Deduplicator says when its files are damaged, or are found by another name.

// TestOpenThroughLink: a link to the files is another name for them, and nothing is lost.
func TestOpenThroughLink(t *testing.T) {
	rnd := seeded(t, 91)
	path, link := filepath.Join(t.TempDir(), "pages"), filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, link); err != nil {
		t.Skip("no links: ", err)
	}
	d := must(Open[int](path, Options{}))
	for i := range 60 {
		d.Add(i, neardup.Text(englishA.text(rnd, 100)))
		if i == 40 {
			if err := d.Compact(bg); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range []string{link, path, link} {
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		d = must(Open[int](name, Options{}))
		if d.Len() != 60 {
			t.Fatalf("%s: %d documents", name, d.Len())
		}
		if err := d.Sync(); err != nil {
			t.Fatal(err)
		}
		for i := range 60 {
			if _, ok, err := d.Text(i); !ok || err != nil {
				t.Fatalf("%s: %d: %v, %v", name, i, ok, err)
			}
		}
	}
	d.Close()
}

// TestFlippedBits flips bits all over the files. Every call ends, and says what it says of the files as they were, or returns an error. A file that
// cannot be opened can be opened after it was made whole, by the same process.
func TestFlippedBits(t *testing.T) {
	rnd := seeded(t, 92)
	path := filepath.Join(t.TempDir(), "pages")
	d := must(Open[string](path, Options{}))
	var texts []string
	for i := range 1500 {
		text := englishA.text(rnd, 10+rnd.IntN(20))
		if i%5 == 0 && i > 0 {
			text = texts[rnd.IntN(len(texts))]
		}
		texts = append(texts, text)
		d.Add(fmt.Sprintf("a document with a long name, of which the number is %d", i), neardup.Text(text))
	}
	if err := d.Compact(bg); err != nil {
		t.Fatal(err)
	}
	// said returns what the calls say, each as a line, and their errors.
	calls := []func(d *Deduplicator[string]) (string, error){
		func(d *Deduplicator[string]) (out string, err error) {
			for m, err := range d.Search(bg, neardup.Text(texts[25])) {
				if err != nil {
					return "", err
				}
				out += fmt.Sprint(m)
			}
			return out, nil
		},
		func(d *Deduplicator[string]) (out string, err error) {
			for e, err := range d.All() {
				if err != nil {
					return "", err
				}
				out += e.ID
			}
			return out, nil
		},
		func(d *Deduplicator[string]) (string, error) {
			groups, err := d.Groups(bg, GroupOptions[string]{})
			return fmt.Sprint(groups), err
		},
		func(d *Deduplicator[string]) (string, error) {
			e, ok, err := d.Get("a document with a long name, of which the number is 700")
			return fmt.Sprint(e.Sequence, ok), err
		},
		func(d *Deduplicator[string]) (string, error) {
			families, err := d.Families(bg)
			return fmt.Sprint(families), err
		},
		func(d *Deduplicator[string]) (string, error) {
			estimate, err := d.Estimate(bg)
			return fmt.Sprint(estimate), err
		},
		func(d *Deduplicator[string]) (string, error) {
			found, err := d.SearchMany(bg, []neardup.Document{neardup.Text(texts[700]), neardup.Text(texts[1]), neardup.Text(texts[1400])})
			return fmt.Sprint(found), err
		},
		func(d *Deduplicator[string]) (string, error) {
			e, err := d.Explain("a document with a long name, of which the number is 700", "a document with a long name, of which the number is 1400")
			return e.String(), err
		},
		func(d *Deduplicator[string]) (string, error) {
			text, ok, err := d.Text("a document with a long name, of which the number is 1000")
			return fmt.Sprint(text, ok), err
		},
		func(d *Deduplicator[string]) (string, error) {
			was, err := d.Delete("a document with a long name, of which the number is 900")
			return fmt.Sprint(was), err
		},
		func(d *Deduplicator[string]) (string, error) {
			n, err := d.DeleteFunc(func(e Entry[string]) bool { return len(e.ID)%2 == 0 })
			return fmt.Sprint(n), err
		},
		func(d *Deduplicator[string]) (string, error) {
			to := made[string](t, Options{})
			err := to.Merge(d)
			return fmt.Sprint(to.Len()), err
		},
		func(d *Deduplicator[string]) (string, error) {
			var out []string
			for p, err := range d.Pairs(bg) {
				if err != nil {
					return "", err
				}
				out = append(out, p.String())
			}
			slices.Sort(out)
			return fmt.Sprint(out), nil
		},
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	names := must(filepath.Glob(path + "*"))
	files := map[string][]byte{}
	for _, name := range names {
		files[name] = must(os.ReadFile(name))
	}
	restore := func() {
		for name, whole := range files {
			os.WriteFile(name, whole, 0o666)
		}
	}
	var want []string
	for _, call := range calls {
		d := must(Open[string](path, Options{}))
		want = append(want, must(call(d)))
		d.Close()
		restore()
	}
	said := 0
	for _, name := range []string{path, path + ".index"} {
		whole := must(os.ReadFile(name))
		for n := range shorter(larger(26, 400), 13) {
			at := rnd.IntN(len(whole))
			damaged := slices.Clone(whole)
			damaged[at] ^= 1 << rnd.IntN(8)
			os.WriteFile(name, damaged, 0o666)
			d, err := Open[string](path, Options{})
			if err == nil {
				call := calls[n%len(calls)]
				if got, failed := call(d); failed == nil && got != want[n%len(calls)] {
					t.Errorf("%s: byte %d: call %d says %.200s, and not %.200s", filepath.Base(name), at, n%len(calls), got, want[n%len(calls)])
				} else if failed != nil {
					said++
				}
				d.Close()
			} else if said++; !errors.Is(err, neardup.ErrDamaged) && !errors.Is(err, neardup.ErrVersion) {
				t.Errorf("%s: byte %d: %v", filepath.Base(name), at, err)
			}
			restore()
			d, err = Open[string](path, Options{})
			if err != nil {
				t.Fatalf("%s: whole again: %v", filepath.Base(name), err)
			}
			d.Close()
		}
	}
	if said == 0 {
		t.Error("no damage was met")
	}
}

// TestGroupsAfterComparisons: what was found before does not change what is kept.
func TestGroupsAfterComparisons(t *testing.T) {
	for seed := range uint64(larger(3, 30)) {
		rnd := seeded(t, 93+seed)
		var texts []string
		for range 600 { // so many that the new ones are searched for
			texts = append(texts, englishA.text(rnd, 100))
		}
		for range 5 {
			words := englishA.some(rnd, 100)
			for v := range 5 {
				changed := slices.Clone(words)
				changed[10+3*v] = fmt.Sprint("changed", v)
				texts = append(texts, englishA.join(changed))
			}
		}
		by := GroupOptions[string]{Old: len(texts) - 25, Prefer: func(a, b Entry[string]) bool { return a.Sequence < b.Sequence }}
		want := fmt.Sprint(must(of(t, Options{}, named("", texts)).Groups(bg, by)))
		d := of(t, Options{}, named("", texts))
		must(d.SearchTop(bg, neardup.Text(texts[0]), 1))
		listed(d.PairsSince(bg, by.Old))
		for range d.Comparisons(context.Background()) {
		}
		if got := fmt.Sprint(must(d.Groups(bg, by))); got != want {
			t.Errorf("seed %d: %.300s, and not %.300s", seed, got, want)
		}
	}
}
