package neardup

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestMemory: texts and keys in files change nothing that is found, also when many are replaced.
func TestMemory(t *testing.T) {
	texts := revisedTexts(shorter(4000, 2400)) // about 1.2 KB each
	t.Setenv("TMPDIR", t.TempDir())
	rnd := rand.New(rand.NewPCG(5, 5))
	var want []string
	for _, memory := range []int64{0, 16 << 20} {
		d := largeDeduplicator[string](t, DeduplicatorOptions{Memory: memory, Kinds: AllKinds}, 100_000)
		for i, text := range texts {
			d.Add(fmt.Sprint(i), text)
			if i%3 == 0 { // most of the files become useless
				d.Add(fmt.Sprint("gone ", rnd.IntN(100)), strings.Repeat(fmt.Sprint(i, " "), 2000))
			}
		}
		for i := range 100 {
			d.Delete(fmt.Sprint("gone ", i))
		}
		d.Delete("5")
		d.Add("5", texts[5])
		if inFile := d.bodies.file != nil; inFile != (memory > 0) {
			t.Errorf("Memory %d: bodies in a file: %v", memory, inFile)
		}
		if f := d.bodies.file; f != nil && f.Size() > 12<<20 {
			t.Errorf("the file has %d bytes", f.Size())
		}
		if memory == 16<<20 { // too little for the sample
			if _, err := d.Groups(bg, Grouping[string]{}); err == nil || !strings.Contains(err.Error(), "Memory is 16 MB") {
				t.Errorf("error %v", err)
			}
			d.settings.Memory = (sampleBytes + int64(len(texts)+100)*contentBytes) * 16 / 15 // now all fits but the keys
		}
		c := must(d.collect(bg, 0))
		if memory > 0 && !c.keysInFile {
			t.Errorf("Memory %d: keys in memory", memory)
		}
		if memory > 0 { // the words in which forms are looked for, in a file
			all, words := make([]int, len(c.contents)), 0
			for i := range all {
				all[i] = i
				words += c.contents[i].size
			}
			d.settings.Memory, memory = 1<<20, d.settings.Memory
			text := c.wordings(all, words)
			for i := range all {
				if want := c.contents[i].formWords(); !slices.Equal(text(i), want) {
					t.Fatalf("content %d has the words %v, not %v", i, text(i), want)
				}
			}
			if d.settings.Memory = memory; c.wordFile == nil || c.err() != nil {
				t.Errorf("words in a file: %v, error %v", c.wordFile != nil, c.err())
			}
		}
		got := allFound(d)
		if memory == 0 {
			want = got
		}
		if !slices.Equal(got, want) || len(want) < 1000 {
			t.Errorf("Memory %d: %d found, not the same %d", memory, len(got), len(want))
		}
	}
	if left, _ := filepath.Glob(os.Getenv("TMPDIR") + "/*"); runtime.GOOS != "windows" && len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// TestMemoryErrors: a temporary file that cannot be made or read is an error, and nothing is lost.
func TestMemoryErrors(t *testing.T) {
	texts := revisedTexts(1500)
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	d := largeDeduplicator[int](t, DeduplicatorOptions{Memory: 16 << 20}, 100_000)
	var wrong error
	added := 0
	for i, text := range texts {
		if err := d.Add(i, text); err != nil {
			wrong = err
			break
		}
		added++
	}
	if wrong == nil || !strings.Contains(wrong.Error(), "missing") || d.Len() != added {
		t.Errorf("error %v after %d documents; %d are there", wrong, added, d.Len())
	}
	t.Setenv("TMPDIR", t.TempDir())
	if err := d.Add(added, texts[added]); err != nil || d.bodies.file == nil {
		t.Fatal(err)
	}
	d.settings.Memory = 0
	d.bodies.file.Close()
	if _, err := d.Groups(bg, Grouping[int]{}); err == nil {
		t.Error("bodies cannot be read, and Groups returns no error")
	}
	for p, err := range d.Pairs(bg) {
		if err == nil {
			t.Errorf("bodies cannot be read, and Pairs yields %v", p)
		}
	}
}
