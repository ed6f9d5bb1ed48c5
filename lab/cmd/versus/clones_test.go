package main

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// folders returns the folders of clones that the environment names, as the flags have them.
func folders() map[string]*string {
	all := map[string]*string{}
	for _, p := range clonedPeers {
		dir := os.Getenv(p.variable())
		all[p.name] = &dir
	}
	return all
}

// With no folder, the output says what is left out and which flag brings it in.
func TestLeftOut(t *testing.T) {
	none := map[string]*string{"semblance": new(string), "rensa": new(string)}
	all, words, err := buildClones(clonedPeers, none, t.TempDir())
	if err != nil || len(all) != 0 {
		t.Fatalf("without folders: %v, %v", all, err)
	}
	got := header(7, words)
	for _, want := range []string{
		"\nsemblance: left out; give -semblance DIR with a clone of github.com/ophymx/semblance\n",
		"\nrensa: left out; give -rensa DIR with a clone of github.com/beowolx/rensa\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the header does not have %q:\n%s", want, got)
		}
	}
}

// With a folder but without the compiler, the output says where to get the compiler.
func TestNoCompiler(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	dir := t.TempDir()
	all, words, err := buildClones(clonedPeers[1:], map[string]*string{"rensa": &dir}, t.TempDir())
	want := "rensa: left out; there is no rustc on the PATH; get it from https://rustup.rs"
	if err != nil || len(all) != 0 || len(words) != 1 || words[0] != want {
		t.Errorf("got %v, %q, %v; want %q", all, words, err, want)
	}
}

// A folder that is no clone is an error that names the folder and the repository.
func TestNoClone(t *testing.T) {
	dir := t.TempDir()
	_, _, err := buildClones(clonedPeers[:1], map[string]*string{"semblance": &dir}, t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "-semblance "+dir) || !strings.Contains(err.Error(), "give a clone of github.com/ophymx/semblance") {
		t.Errorf("an empty folder: %v", err)
	}
}

type closer struct{ io.Writer }

func (closer) Close() error { return nil }

// The answers of a driver are read, and none that says no time is taken for one.
func TestAsk(t *testing.T) {
	var asked strings.Builder
	p := &process{in: closer{&asked}, out: bufio.NewScanner(strings.NewReader(
		"{\"seconds\": 0.250000000}\n{\"seconds\": 0.000000123, \"found\": 3}\n{\"found\": 3}\nno answer\n"))}
	for _, want := range []time.Duration{250 * time.Millisecond, 123 * time.Nanosecond} {
		if took, err := p.ask("1000"); err != nil || took != want {
			t.Errorf("took %v, %v; want %v", took, err, want)
		}
	}
	for _, want := range []string{"has no seconds", `"no answer"`, "unexpected EOF"} {
		if took, err := p.ask("1"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("took %v, %v; want an error with %q", took, err, want)
		}
	}
	if want := "1000\n1000\n1\n1\n1\n"; asked.String() != want {
		t.Errorf("asked %q, want %q", asked.String(), want)
	}
}

// Every job of every clone does its work. This needs the clones.
func TestClones(t *testing.T) {
	given := folders()
	text := []byte(strings.Repeat("two words and 汉字很多 ", 100))
	small := map[string]task{
		"simhash":  {"simhash", 200, encode(random(200, 1))},
		"weighted": {"weighted", 200, encode(random(200, 1), make([]uint64, 200))},
		"english":  {"english", 512, text},
		"chinese":  {"chinese", 512, text},
		"minhash":  {"minhash", 10, encode(random(100, 1))},
		"jaccard":  {"jaccard", 500, encode(random(1000, 1))},
		"lsh":      {"lsh", 50, encode(random(5000, 1))},
		"lookup":   {"lookup", 1000, encode(random(1500, 1))},
		"join":     {"join", 1000, encode(random(1000, 1))},
	}
	for i, p := range clonedPeers {
		t.Run(p.name, func(t *testing.T) {
			if *given[p.name] == "" {
				t.Skipf("$%s names no folder with a clone of %s", p.variable(), p.url)
			}
			tmp := t.TempDir()
			all, words, err := buildClones(clonedPeers[i:i+1], given, tmp)
			if err != nil {
				t.Fatal(err)
			}
			if len(all) == 0 {
				t.Skip(words)
			}
			for _, j := range p.jobs {
				others, stop, err := contestants(all, small[j.kind], filepath.Join(tmp, "data"))
				if err != nil {
					t.Fatal(err)
				}
				if len(others) == 0 {
					t.Errorf("nobody does %s", j.kind)
				}
				for _, c := range others {
					if took, err := c.time(100); err != nil || took <= 0 {
						t.Errorf("%s, %s: took %v, %v", c.name, j.kind, took, err)
					}
				}
				stop()
			}
		})
	}
}
