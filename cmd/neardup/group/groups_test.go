package group

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/neardup/neardup/cmd/neardup/corpus"
)

// of returns groups of documents by what each keeps, of which the first ones are old.
func of(old int, kept ...int32) *Groups {
	c := &corpus.Corpus{Old: old}
	for range kept {
		c.Docs.Append(corpus.Doc{Content: &corpus.Compared})
	}
	g := Alone(c)
	copy(g.Kept, kept)
	return g
}

// TestSizes: old documents count in a group if they keep it, or with --state always, whose groups have lasting names.
func TestSizes(t *testing.T) {
	g := of(2, 0, 1, 0, 0, 4, 4)
	if got := fmt.Sprint(g.Sizes(), g.Duplicates()); got != "[3 0 0 0 2 0] 3" {
		t.Error(got)
	}
	g = of(2, 0, 1, 1, 3)
	g.names = []int32{0, 0} // document 1 joined the group of document 0
	if got := fmt.Sprint(g.Sizes(), g.Of(2), g.Of(3)); got != "[3 0 0 1] 0 3" {
		t.Error(got)
	}
}

// TestNames: the names of groups last from one call to the next, also if the documents that give them go, and damage is seen.
func TestNames(t *testing.T) {
	dir := t.TempDir()
	if names, err := readNames(dir); names != nil || err != nil {
		t.Errorf("before the first call: %v, %v", names, err)
	}
	// Documents with the numbers 3, 5, 6 and 9: the second one joins the first, the last one the third.
	if err := writeNames(dir, of(0, 0, 0, 2, 2), []int{3, 5, 6, 9}); err != nil {
		t.Fatal(err)
	}
	names, err := readNames(dir)
	if err != nil || fmt.Sprint(names) != "[0 1 2 3 4 3 6 7 8 6]" {
		t.Errorf("%v, %v", names, err)
	}
	for _, c := range []struct {
		numbers []int
		want    string
	}{
		{[]int{3, 5, 6, 9}, "[0 0 2 2]"},
		{[]int{5, 9, 12}, "[0 1 2]"},            // the documents that gave the names have gone
		{[]int{3, 5, 9, 10, 11}, "[0 0 2 3 4]"}, // and others came
	} {
		if got := fmt.Sprint(namesOf(c.numbers, names)); got != c.want {
			t.Errorf("%v: %s", c.numbers, got)
		}
	}
	path := filepath.Join(dir, "groups")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 4
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := readNames(dir); err == nil {
		t.Error("the damage is not seen")
	}
}

// FuzzFound: what was found is decoded as it was, and no bytes make Decode panic.
func FuzzFound(f *testing.F) {
	whole, err := (&Found{Pairs: []Pair{{0, 1, .5, .75, 1}}, Like: []Pair{{1, 0, 1, 1, 2}}, Families: []Family{{3, "form", []string{"a", "b"}}}}).Append(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:20])
	f.Fuzz(func(t *testing.T, b []byte) {
		var found Found
		if err := found.Decode(b, 5); err != nil {
			return
		}
		again, err := found.Append(nil)
		var other Found
		if err != nil || other.Decode(again, 5) != nil || fmt.Sprint(other) != fmt.Sprint(found) {
			t.Errorf("%v is decoded as %v, %v", found, other, err)
		}
	})
}
