// Package python has the test of the Python package: it builds the wheel, installs it into a fresh virtual environment, and runs
// pytest there, with what the Go library says of the texts of the repository as the expected results.
package python

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/bindings/internal/shipped"
	"github.com/neardup/neardup/dedup"
)

// An expected result. Numbers are spelled out, so that they are compared to the bit.
type expected struct {
	Version   string
	Texts     []string
	Sums      []string   // 64 and 128 bits
	Signature []uint32   // of the first text
	Jaccard   []string   // of each text and the next one
	Pairs     [][]string // a, b, similarity, probability, kind
	Groups    map[string][][]int
	Families  []dedup.Family[int64]
	Found     [][]string // by each text without its first word: id, similarity, probability, kind
	Explained string     // of the first pair
	Estimate  string

	Tokenizers map[string][]string // by name, the fingerprints of the first twenty texts
}

func bitsOf(x float64) string { return fmt.Sprintf("%016x", math.Float64bits(x)) }

// said returns what the Go library says.
func said(t *testing.T, texts []string) (e expected) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx := context.Background()
	f := new(neardup.Fingerprinter)
	d, err := dedup.New[int64](dedup.Options{})
	must(err)
	e.Texts = texts
	e.Version, err = f.Version()
	must(err)
	var last neardup.Signature
	for i, text := range texts {
		doc := neardup.Text(text)
		s := f.Sign(doc, neardup.MinHash{})
		e.Sums = append(e.Sums, fmt.Sprintf("%v %v", f.Sum64(doc), f.Sum128(doc)))
		if i == 0 {
			e.Signature = s
		} else {
			e.Jaccard = append(e.Jaccard, bitsOf(last.Jaccard(s)))
		}
		last = s
		must(d.Add(int64(i), doc))
	}
	for p, err := range d.Pairs(ctx) {
		must(err)
		if e.Pairs == nil {
			x, err := d.Explain(p.A, p.B)
			must(err)
			e.Explained = x.String()
		}
		e.Pairs = append(e.Pairs, []string{fmt.Sprint(p.A), fmt.Sprint(p.B), bitsOf(p.Similarity), bitsOf(p.Probability), p.Kind.String()})
	}
	e.Groups = map[string][][]int{}
	for name, by := range map[string]neardup.Linkage{"centre": neardup.CentreLinkage, "complete": neardup.CompleteLinkage, "single": neardup.SingleLinkage} {
		groups, err := d.Groups(ctx, dedup.GroupOptions[int64]{Linkage: by})
		must(err)
		for _, g := range groups {
			line := []int{int(g.Keep)}
			for _, id := range g.Members {
				line = append(line, int(id))
			}
			e.Groups[name] = append(e.Groups[name], line)
		}
	}
	e.Families, err = d.Families(ctx)
	must(err)
	for _, text := range texts[:40] {
		for m, err := range d.Search(ctx, neardup.Text(text[min(len(text), 9):])) {
			must(err)
			e.Found = append(e.Found, []string{fmt.Sprint(m.ID), bitsOf(m.Similarity), bitsOf(m.Probability), m.Kind.String()})
		}
	}
	estimate, err := d.Estimate(ctx)
	must(err)
	e.Estimate = estimate.String()
	e.Tokenizers = map[string][]string{}
	for name, of := range map[string]neardup.Tokenizer{"words2": nil, "words": neardup.Words{}, "words3": neardup.Shingles{N: 3}, "chars3": neardup.NGrams{N: 3}, "chars5": neardup.NGrams{N: 5}} {
		f := neardup.Fingerprinter{Tokenizer: of}
		for _, text := range texts[:20] {
			e.Tokenizers[name] = append(e.Tokenizers[name], f.Sum64(neardup.Text(text)).String())
		}
	}
	return e
}

// TestPython needs python3 with venv and pytest, as Debian has them in python3-venv and python3-pytest.
func TestPython(t *testing.T) {
	python := "/usr/bin/python3"
	if _, err := os.Stat(python); err != nil {
		python = "python3"
	}
	if out, err := exec.Command(python, "-c", "import ensurepip, pytest, venv").CombinedOutput(); err != nil {
		t.Skipf("no Python with venv and pytest: %v\n%s", err, out)
	}
	// go test repeats a test whose files have changed, but only if the test itself has read them.
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			_, err = os.ReadFile(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile("../../docs/coming-from.md"); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	run := func(name string, args ...string) {
		t.Helper()
		c := exec.Command(name, args...)
		c.Env = append(os.Environ(), "PIP_NO_INDEX=1", "PIP_DISABLE_PIP_VERSION_CHECK=1", "NEARDUP_EXPECTED="+filepath.Join(dir, "expected.json"))
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, out)
		} else if testing.Verbose() {
			t.Logf("%s", out)
		}
	}
	b, err := json.Marshal(said(t, shipped.Texts(t, "en.jsonl", "zh.jsonl", "more.jsonl")))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "expected.json"), b, 0o666); err != nil {
		t.Fatal(err)
	}
	run(python, "build_backend.py", filepath.Join(dir, "wheels"))
	run(python, "-m", "venv", "--system-site-packages", filepath.Join(dir, "venv")) // for pytest
	inside := filepath.Join(dir, "venv", "bin", "python")
	run(inside, "-m", "pip", "install", "--quiet", "--find-links", filepath.Join(dir, "wheels"), "neardup")
	// -P and importlib: the package that is tested is the installed one, not the one in this folder.
	run(inside, "-m", "pytest", "-q", "--import-mode=importlib", "-p", "no:cacheprovider", "tests")
}
