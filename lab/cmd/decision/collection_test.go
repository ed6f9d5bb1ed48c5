package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/neardup/neardup/lab/dataset"
	"github.com/neardup/neardup/lab/planted"
)

// essay returns a text of different words.
func essay(seed, n int) string {
	var words []string
	random := planted.Stream(seed)
	for range n {
		words = append(words, fmt.Sprintf("%x", random.Next()>>40))
	}
	return strings.Join(words, " ")
}

// TestRare checks the collections in which copies are rare.
func TestRare(t *testing.T) {
	c := &collection{name: "s", set: "s", truth: dataset.Truth{}, texts: make([]string, 300)}
	for i := range c.texts {
		c.texts[i] = fmt.Sprint(i)
	}
	for i := range 30 { // 30 clusters of three
		c.truth.Add(3*i, 3*i+1)
		c.truth.Add(3*i, 3*i+2)
		c.truth.Add(3*i+1, 3*i+2)
	}
	single, some := c.rare(false), c.rare(true)
	if len(single.texts) != 240 || len(single.truth) != 0 || single.texts[1] != "3" || single.kind != one {
		t.Errorf("%d documents, %d pairs", len(single.texts), len(single.truth))
	}
	if len(some.texts) != 242 || len(some.truth) < 2 || some.kind != few || some.set != "s" {
		t.Errorf("%d documents, %d pairs", len(some.texts), len(some.truth))
	}
}

// TestPlant checks the number of changes, and that a collection is always the same.
func TestPlant(t *testing.T) {
	var texts []string
	for i := range vocabulary + taken {
		texts = append(texts, essay(i, 60))
	}
	p := planting{"p", small, "en", false, 0, []int{2, 3}, []float64{0.1}, true}
	c, again := p.plant(texts), p.plant(texts)
	if fmt.Sprint(c.texts) != fmt.Sprint(again.texts) || len(c.plans) != len(c.texts) {
		t.Error("not the same again")
	}
	for pair := range c.truth {
		a, b := strings.Fields(c.texts[pair[0]]), strings.Fields(c.texts[pair[1]])
		differ := 0
		for i := range a {
			if a[i] != b[i] {
				differ++
			}
		}
		if len(a) != len(b) || differ == 0 || differ > 12 || c.plans[pair[0]] != c.plans[pair[1]] {
			t.Fatalf("%d of %d words differ, %+v", differ, len(a), c.plans[pair[0]])
		}
	}
	e := editor{characters: true, vocabulary: []string{"一"}}
	if s := e.edit("二二二二二二二二二二", 0.2); strings.Count(s, "二") < 8 || len([]rune(s)) != 10 || !strings.Contains(s, "一") {
		t.Error(s)
	}
}

// TestGather checks that pairs of contents stand for all pairs of documents, and that files give the same again.
func TestGather(t *testing.T) {
	near := strings.Replace(essay(1, 80), strings.Fields(essay(1, 80))[40], "changed", 1)
	c := &collection{name: "g", truth: dataset.Truth{}, texts: []string{essay(1, 80), essay(2, 80), near, essay(1, 80), near, essay(3, 80), near}}
	c.truth.Add(0, 2)
	c.truth.Add(0, 3)
	c.truth.Add(3, 6)
	dir := t.TempDir()
	e, err := gatherOnce(c, dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(e.equal) != 4 || len(e.pairs) != 1 || e.pairs[0].n != 6 || e.pairs[0].hits != 2 || e.pairs[0].is() {
		t.Fatalf("%d equal, %+v", len(e.equal), e.pairs)
	}
	all := e.count(model{intercept: 1}, 0)
	if all != (count{found: 10, hits: 3, truths: 3}) {
		t.Errorf("%+v", all)
	}
	again, err := gatherOnce(c, dir)
	if err != nil || again.pairs[0] != e.pairs[0] || len(again.equal) != 4 {
		t.Errorf("%v, %v", again, err)
	}
	for _, bad := range []string{"1\t2\t3\n", "1\t2\t3\tx\n"} {
		if err := os.WriteFile(filepath.Join(dir, "g.tsv"), []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := gatherOnce(c, dir); err == nil {
			t.Errorf("%q is no error", bad)
		}
	}
}

// TestSilver checks truth with a third column.
func TestSilver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "truth.tsv")
	docs := []dataset.Document{{ID: "a"}, {ID: "b"}, {ID: "c"}}
	for lines, want := range map[string]string{"a\tb\t1.0\nc\tb\t0.7\n": "map[[0 1]:true [1 2]:true]", "a\tb\nx\tb\n": "", "a\n": ""} {
		if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
			t.Fatal(err)
		}
		truth, err := readSilver(path, docs)
		if (err != nil) != (want == "") || err == nil && fmt.Sprint(map[[2]int]bool(truth)) != want {
			t.Errorf("%q: %v, %v", lines, truth, err)
		}
	}
}

// TestRecipe checks the weights of a set: those of near-duplicates add up to 100 in a large set, and those of the others to
// as much as the recipe says.
func TestRecipe(t *testing.T) {
	e := &evidence{collection: &collection{}}
	for i := range 10_000 {
		p := pair{n: 1}
		if i < 40 {
			p.hits = 1
		}
		e.pairs = append(e.pairs, p)
	}
	r := recipe{negative: 0.5, inColumns: 0.25, mostNegatives: 12}
	p := r.part(e, 2, e.positives())
	if got := p.positive * 40; math.Abs(got-200) > 1e-9 {
		t.Errorf("near-duplicates weigh %g", got)
	}
	if got := p.negative * 9960; math.Abs(got-200*0.5*12) > 1e-9 {
		t.Errorf("others weigh %g", got)
	}
	if p = r.part(&evidence{collection: e.collection, pairs: e.pairs[:50]}, 1, 5); p.positive != 5 || p.negative != 2.5 {
		t.Errorf("a small set: %+v", p)
	}
	if p = r.part(&evidence{collection: &collection{kind: columns}, pairs: e.pairs[:50]}, 1, 5); p.positive != 5 || p.negative != 1.25 {
		t.Errorf("a small table: %+v", p)
	}
}
