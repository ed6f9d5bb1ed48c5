package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/bindings/internal/shipped"
	"github.com/neardup/neardup/dedup"
)

// said is what testdata/print.c prints, by the Go library.
func said(t *testing.T, texts []string) string {
	var b strings.Builder
	f := new(neardup.Fingerprinter)
	version, err := f.Version()
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(&b, version)
	d, err := dedup.New[uint64](dedup.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var last neardup.Signature
	for i, text := range texts {
		doc := neardup.Text(text)
		sum, wide, s := f.Sum64(doc), f.Sum128(doc), f.Sign(doc, neardup.MinHash{})
		jaccard := uint64(0)
		if i > 0 {
			jaccard = math.Float64bits(s.Jaccard(last))
		}
		fmt.Fprintf(&b, "text %016x %d %016x%016x %08x %08x %016x\n", uint64(sum), sum.Distance(neardup.Fingerprint64(wide.Lo)), wide.Hi, wide.Lo, s[0], s[127], jaccard)
		last = s
		var found []neardup.Match[uint64]
		for m, err := range d.Search(context.Background(), doc) {
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, m)
		}
		slices.SortStableFunc(found, func(a, b neardup.Match[uint64]) int {
			switch {
			case a.Probability > b.Probability:
				return -1
			case a.Probability < b.Probability:
				return 1
			}
			return 0
		})
		for _, m := range found {
			fmt.Fprintf(&b, "match %d %016x %016x %d\n", m.ID, math.Float64bits(m.Similarity), math.Float64bits(m.Probability), m.Kind)
		}
		if err := d.Add(uint64(i), doc); err != nil {
			t.Fatal(err)
		}
	}
	for round := range 2 {
		for p, err := range d.Pairs(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "pair %d %d %016x %016x %d\n", p.A, p.B, math.Float64bits(p.Similarity), math.Float64bits(p.Probability), p.Kind)
		}
		groups, err := d.Groups(context.Background(), dedup.GroupOptions[uint64]{})
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range groups {
			for _, id := range g.Members {
				fmt.Fprintf(&b, "member %d %d\n", id, g.Keep)
			}
		}
		if round == 0 {
			if _, err := d.Delete(0); err != nil {
				t.Fatal(err)
			}
		}
	}
	return b.String()
}

// TestC builds the library and a program in C, and compares what they say with the Go library. It skips without a compiler.
func TestC(t *testing.T) {
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("there is no C compiler")
	}
	dir := t.TempDir()
	run := func(name string, args ...string) string {
		t.Helper()
		var stdout, stderr bytes.Buffer
		cmd := exec.Command(name, args...)
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Run(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, stderr.String())
		}
		return stdout.String()
	}
	library := filepath.Join(dir, "libneardup.so")
	run("go", "build", "-buildmode=c-shared", "-o", library, ".")
	for _, standard := range []string{"c99", "c17"} {
		program := filepath.Join(dir, "print-"+standard)
		args := []string{"-std=" + standard, "-Wall", "-Wextra", "-Werror", "-I.", "testdata/print.c", library, "-o", program}
		if runtime.GOOS != "darwin" {
			args = append(args, "-Wl,-rpath,"+dir)
		}
		run(compiler, args...)
		all := append(shipped.Texts(t, "en.jsonl", "zh.jsonl", "more.jsonl"), "", "\x00\xff", "one two\x00three", strings.Repeat("x ", 100_000))
		var file bytes.Buffer
		for _, text := range all {
			fmt.Fprintf(&file, "%d\n%s", len(text), text)
		}
		input := filepath.Join(dir, "texts")
		if err := os.WriteFile(input, file.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		want, got := said(t, all), run(program, input, t.TempDir())
		if want == got {
			if n := strings.Count(got, "\npair "); n < 100 {
				t.Errorf("there are only %d pairs", n)
			}
			continue
		}
		a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				t.Fatalf("line %d: C says\n%s, and Go\n%s", i+1, b[i], a[i])
			}
		}
		t.Fatalf("C prints %d lines, and Go %d", len(b), len(a))
	}
}
