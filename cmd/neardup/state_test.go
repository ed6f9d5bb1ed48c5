package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/neardup/neardup/cmd/neardup/cli"
)

// revisions are JSON lines of documents, of which every other one is a revision of the one before.
func revisions(seed uint64, n int) (lines []string) {
	rnd := rand.New(rand.NewPCG(seed, 1))
	var words []string
	for i := range n {
		if i%2 == 0 {
			words = make([]string, 60)
			for k := range words {
				words[k] = fmt.Sprintf("w%d", rnd.IntN(3000))
			}
		}
		words[rnd.IntN(60)] = "revised"
		lines = append(lines, fmt.Sprintf(`{"id":"%d-%d","text":"%s"}`, seed, i, strings.Join(words, " ")))
	}
	return lines
}

// TestStateFew: a few new documents find their near-duplicates among many of an earlier call, as with --against.
func TestStateFew(t *testing.T) {
	t.Chdir(t.TempDir())
	dedup := func(args ...string) {
		var out, err bytes.Buffer
		if status := run(append([]string{"dedup", "-q"}, args...), &cli.Outputs{}, strings.NewReader(""), &out, &err); status != 0 {
			t.Fatalf("%q: status %d, %s", args, status, &err)
		}
	}
	lines := revisions(3, 800)
	var old, few []string
	for i, line := range lines { // of each pair the first is old, and of the first ten pairs the second is new
		if i%2 == 0 {
			old = append(old, line)
		} else if i < 20 {
			few = append(few, line)
		}
	}
	os.WriteFile("old.jsonl", []byte(strings.Join(old, "\n")+"\n"), 0o666)
	os.WriteFile("few.jsonl", []byte(strings.Join(few, "\n")+"\n"), 0o666)
	dedup("--state", "kept", "old.jsonl")
	dedup("--state", "kept", "--groups", "state.tsv", "few.jsonl")
	dedup("--against", "old.jsonl", "--groups", "against.tsv", "few.jsonl")
	got, want := read(t, "state.tsv"), read(t, "against.tsv")
	if got != want || strings.Count(want, "\n") != 10 {
		t.Errorf("with --state\n%s\nwith --against\n%s", got, want)
	}
}

// TestState: calls with --state find the pairs of their documents and those of earlier calls, and not the
// pairs of earlier calls again.
func TestState(t *testing.T) {
	t.Chdir(t.TempDir())
	dedup := func(args ...string) (status int, stderr string) {
		var out, err bytes.Buffer
		status = run(append([]string{"dedup"}, args...), &cli.Outputs{}, strings.NewReader(""), &out, &err)
		return status, err.String()
	}
	lines := revisions(1, 120)
	write := func(name string, lines []string) { os.WriteFile(name, []byte(strings.Join(lines, "\n")+"\n"), 0o666) }
	write("all.jsonl", lines)
	var parts []string
	for i := range 3 { // a document and its revision are in different files
		part := []string{}
		for k, line := range lines {
			if k%3 == i {
				part = append(part, line)
			}
		}
		parts = append(parts, fmt.Sprintf("%d.jsonl", i))
		write(parts[i], part)
	}
	if status, err := dedup("--similarity", "0.5", "--kinds", "all", "--pairs", "want", "all.jsonl"); status != 0 {
		t.Fatal(err)
	}
	var got []string
	for _, part := range parts {
		if status, err := dedup("--similarity", "0.5", "--state", "kept", "--pairs", "pairs", "--groups", "clusters", "--out", "left.jsonl", part); status != 0 {
			t.Fatal(err)
		}
		got = append(got, pairsOf(t, "pairs")...)
		if clusters := strings.Count(read(t, "clusters"), "\n"); clusters != 40 {
			t.Errorf("%s: %d documents in clusters", part, clusters)
		}
		if cli.Exists("kept/run") {
			t.Error("the run has not ended")
		}
	}
	slices.Sort(got)
	if want := pairsOf(t, "want"); !slices.Equal(got, want) || len(want) < 55 {
		t.Errorf("%d pairs, not %d", len(got), len(want))
	}
	if left := strings.Count(read(t, "left.jsonl"), "\n"); left > 5 { // nearly all are revisions of documents of the first two
		t.Errorf("%d documents are left", left)
	}
	// A run that fails leaves nothing: neither its documents nor a run that must be repeated.
	write("more.jsonl", []string{`{"id":"x","text":"some other text"}`, "{"})
	if status, err := dedup("--state", "kept", "more.jsonl"); status != 1 || !strings.Contains(err, "more.jsonl:2: not JSON") {
		t.Errorf("status %d, %s", status, err)
	}
	if cli.Exists("kept/run") {
		t.Error("a run that has failed has not ended")
	}
	write("other.jsonl", []string{`{"id":"y","text":"Some other text!"}`})
	if status, err := dedup("--state", "kept", "--groups", "clusters", "other.jsonl"); status != 0 || read(t, "clusters") != "y\ty\n" {
		t.Errorf("status %d, %s, %s", status, err, read(t, "clusters"))
	}
	// One that was killed must be repeated.
	write("kept/run", []string{`{"Old":0,"Inputs":[]}`})
	if status, err := dedup("--state", "kept", "all.jsonl"); status != 1 || !strings.Contains(err, "kept/run:1: the last run did not finish") || !cli.Exists("kept/run") {
		t.Errorf("status %d, %s", status, err)
	}
	os.Remove("kept/run")
	if status, err := dedup("--skip-bad", "--state", "kept", "--groups", "clusters", "more.jsonl"); status != 0 || read(t, "clusters") != "x\ty\n" {
		t.Errorf("status %d, %s, %s", status, err, read(t, "clusters"))
	}
	if status, err := dedup("--state", "kept", "--normalize", "fold", "all.jsonl"); status != 1 || !strings.Contains(err, "different settings") {
		t.Errorf("status %d, %s", status, err)
	}
	if status, _ := dedup("--state", "kept", "--method", "minhash", "all.jsonl"); status != 2 {
		t.Errorf("status %d", status)
	}
}

// pairsOf returns the ids of the pairs in a file, sorted.
func pairsOf(t *testing.T, path string) (pairs []string) {
	for line := range strings.Lines(read(t, path)) {
		ids := strings.Split(line, "\t")[:2]
		slices.Sort(ids)
		pairs = append(pairs, strings.Join(ids, " "))
	}
	slices.Sort(pairs)
	return pairs
}

// TestStateKilled kills calls with --state and repeats them. In the end every pair has been reported once. All kinds count, since
// documents that come later may show that two are of one form. It
// takes as long as NEARDUP_SOAK says, for example 10m.
func TestStateKilled(t *testing.T) {
	if args := os.Getenv("NEARDUP_SOAK_ARGS"); args != "" {
		os.Exit(run(append([]string{"dedup"}, strings.Fields(args)...), &cli.Outputs{}, os.Stdin, os.Stdout, os.Stderr))
	}
	duration := time.Second
	if s := os.Getenv("NEARDUP_SOAK"); s != "" {
		var err error
		if duration, err = time.ParseDuration(s); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(t.TempDir())
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 0))
	t.Log("seed", seed)
	kills, rounds := 0, 0
	for end := time.Now().Add(duration); time.Now().Before(end); rounds++ {
		lines := revisions(rnd.Uint64(), 600)
		half := slices.Clone(lines)
		rnd.Shuffle(len(half), func(i, j int) { half[i], half[j] = half[j], half[i] })
		os.WriteFile("all.jsonl", []byte(strings.Join(lines, "\n")), 0o666)
		os.WriteFile("a.jsonl", []byte(strings.Join(half[:300], "\n")), 0o666)
		os.WriteFile("b.jsonl", []byte(strings.Join(half[300:], "\n")), 0o666)
		os.RemoveAll("kept")
		var out bytes.Buffer
		if run([]string{"dedup", "--similarity", "0.5", "--kinds", "all", "--pairs", "want", "all.jsonl"}, &cli.Outputs{}, nil, &out, &out) != 0 {
			t.Fatal(out.String())
		}
		var got []string
		for _, part := range []string{"a", "b"} {
			os.Remove("pairs")
			for wait := 5; ; wait += 10 { // so that it comes to an end
				cmd := exec.Command(os.Args[0], "-test.run=^TestStateKilled$")
				cmd.Env = append(os.Environ(), "NEARDUP_SOAK_ARGS=--similarity 0.5 --kinds all --state kept --pairs pairs "+part+".jsonl")
				var said bytes.Buffer
				cmd.Stderr = &said
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				timer := time.AfterFunc(time.Duration(rnd.IntN(wait))*time.Millisecond, func() { cmd.Process.Kill() })
				err := cmd.Wait()
				if timer.Stop(); err == nil {
					break
				}
				if kills++; said.Len() > 0 {
					t.Fatalf("after %d kills: %s", kills, said.String())
				}
				if cli.Exists("pairs") && !cli.Exists("kept/run") { // it was killed after its last step
					break
				}
			}
			got = append(got, pairsOf(t, "pairs")...)
		}
		slices.Sort(got)
		if want := pairsOf(t, "want"); !slices.Equal(got, want) || len(want) < 290 {
			t.Fatalf("after %d kills: %d pairs, not the same %d", kills, len(got), len(want))
		}
		if leftovers, _ := filepath.Glob("kept/*part*"); len(leftovers) > 1 {
			t.Fatalf("left behind: %q", leftovers)
		}
	}
	t.Logf("%d kills in %d rounds", kills, rounds)
}

// TestStateAudit: documents of earlier calls are in no input.
func TestStateAudit(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(dir+"/a.jsonl", []byte(three), 0o666)
	os.WriteFile(dir+"/b.jsonl", []byte(`{"id":"z","text":"Something else altogether: about fish and chips"}`+"\n"), 0o666)
	if status, _, stderr := inDirectory(t, dir, "dedup", "-q", "--state", "s", "a.jsonl"); status != 0 {
		t.Fatal(stderr)
	}
	status, stdout, stderr := inDirectory(t, dir, "dedup", "--state", "s", "--audit", "audit.csv", "b.jsonl")
	if got := read(t, "audit.csv"); status != 0 || !strings.Contains(got, "\nz,b.jsonl:1,b,,b,2,1.0000,same-words,") || !strings.Contains(stdout, "     1 × b\n") {
		t.Errorf("status %d, %q, %q, %q", status, got, stdout, stderr)
	}
}

// TestStateLost: what was dropped of a journal is said, with its place, also with -q.
func TestStateLost(t *testing.T) {
	state := filepath.Join(t.TempDir(), "s")
	files := map[string]string{"x.jsonl": `{"id":"a","text":"One that came first, and stands in the journal!"}` + "\n"}
	if status, _, stderr := runIn(t, files, "", "--method", "auto", "--state", state, "x.jsonl"); status != 0 {
		t.Fatal(status, stderr)
	}
	path := filepath.Join(state, "documents.journal")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	os.WriteFile(path, b[:len(b)-3], 0o666)
	status, _, stderr := runIn(t, files, "", "-q", "--method", "auto", "--state", state, "x.jsonl")
	if status != 0 || !strings.Contains(stderr, "documents.journal: ") || !strings.Contains(stderr, " were dropped: ") {
		t.Errorf("%d %q", status, stderr)
	}
	if status, _, stderr := runIn(t, files, "", "-q", "--method", "auto", "--state", state, "x.jsonl"); status != 0 || stderr != "" {
		t.Errorf("once more: %d %q", status, stderr)
	}
}

// TestUpgrade: a directory of an earlier version is an error that says what to do, and that does it.
func TestUpgrade(t *testing.T) {
	old := t.TempDir()
	for _, name := range []string{"documents.journal", "documents.texts-1"} {
		b, err := os.ReadFile(filepath.Join("..", "..", "dedup", "testdata", "version2", name))
		if err != nil {
			t.Fatal(err)
		}
		os.WriteFile(filepath.Join(old, name), b, 0o666)
	}
	files := map[string]string{"x.jsonl": `{"id":"new","text":"One more that came later, and stands in the journal!"}` + "\n"}
	if status, _, stderr := runIn(t, files, "", "--method", "auto", "--state", old, "x.jsonl"); status != 1 || !strings.Contains(stderr, "neardup upgrade "+old) {
		t.Fatalf("%d %s", status, stderr)
	}
	var out, errs strings.Builder
	if status := run([]string{"upgrade", old, "state"}, &cli.Outputs{}, nil, &out, &errs); status != 0 || out.String() != "7 documents; use --state state from now on\n" {
		t.Fatalf("%d %s%s", status, out.String(), errs.String())
	}
	out.Reset()
	if status := run([]string{"dedup", "-q", "--state", "state", "--groups", "-", "x.jsonl"}, &cli.Outputs{}, nil, &out, &errs); status != 0 || out.String() != "new\ta9\n" {
		t.Errorf("%d %q %s", status, out.String(), errs.String())
	}
}
