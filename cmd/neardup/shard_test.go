package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/neardup/neardup/cmd/neardup/cli"
)

// The tests of calls that are divided among processes (--shard, merge): the outputs are those of one call.

// shardedOutputs are all outputs, by the names of the flags, and their files.
var shardedOutputs = map[string]string{"pairs": "pairs.csv", "groups": "clusters.jsonl", "out": "out.jsonl", "annotate": "annotated.csv", "audit": "audit.csv", "report": "report.html"}

// outputFlagsIn are the flags for all outputs in a folder, or for all but the page, which takes long.
func outputFlagsIn(dir string, withPage bool) (flags []string) {
	for _, name := range slices.Sorted(maps.Keys(shardedOutputs)) {
		if name == "report" && !withPage {
			continue
		}
		flags = append(flags, "--"+name, filepath.Join(dir, shardedOutputs[name]))
	}
	return append(flags, "--json")
}

// callHere runs the program in this process, in the folder where it is.
func callHere(args ...string) (status int, stdout, stderr string) {
	var out, err bytes.Buffer
	status = run(args, &cli.Outputs{}, strings.NewReader(""), &out, &err)
	return status, out.String(), err.String()
}

// calls returns what makes calls that must fail with a text in the error, and what makes calls that must not.
func calls(t *testing.T) (fail func(say string, args ...string), work func(args ...string)) {
	fail = func(say string, args ...string) {
		t.Helper()
		if status, _, stderr := callHere(args...); status == 0 || !strings.Contains(stderr, say) {
			t.Errorf("%q: %d, %s, not %q", args, status, stderr, say)
		}
	}
	work = func(args ...string) {
		t.Helper()
		if status, _, stderr := callHere(args...); status != 0 {
			t.Fatalf("%q: %s", args, stderr)
		}
	}
	return fail, work
}

// takes is how long a call took, which nobody compares.
var takes = regexp.MustCompile(`"seconds": [0-9.e-]+`)

// sharded makes the shards of a call, and merges them. With steps, each step is done by shards too. It returns what merge printed.
func sharded(t *testing.T, of int, steps bool, args ...string) string {
	t.Helper()
	var dirs []string
	for k := of; k > 0; k-- { // the order does not matter
		dir := fmt.Sprintf("parts/%d of %d", k, of)
		dirs = append(dirs, dir)
		if status, _, stderr := callHere(append([]string{"dedup", "--shard", fmt.Sprintf("%d/%d", k, of), "--state", dir}, args...)...); status != 0 {
			t.Fatal(stderr)
		}
	}
	for _, step := range []string{"join", "compare"} {
		for k := 1; k <= of && steps; k++ {
			if status, _, stderr := callHere(append([]string{"merge", "--step", step, "--shard", fmt.Sprintf("%d/%d", k, of)}, dirs...)...); status != 0 {
				t.Fatal(stderr)
			}
		}
	}
	status, stdout, stderr := callHere(append([]string{"merge"}, dirs...)...)
	if status != 0 {
		t.Fatal(stderr)
	}
	return takes.ReplaceAllString(stdout, "")
}

// checkShards compares calls in shards with one call.
func checkShards(t *testing.T, withPage bool, args ...string) {
	t.Helper()
	os.RemoveAll("whole")
	os.Mkdir("whole", 0o777)
	status, want, stderr := callHere(append(append([]string{"dedup"}, outputFlagsIn("whole", withPage)...), args...)...)
	if status != 0 {
		t.Fatal(stderr)
	}
	want = takes.ReplaceAllString(want, "")
	for _, of := range []int{1, 2, 5} {
		os.RemoveAll("merged")
		os.RemoveAll("parts")
		os.Mkdir("merged", 0o777)
		got := sharded(t, of, of != 2, append(outputFlagsIn("merged", withPage), args...)...)
		if got != want {
			t.Errorf("%d shards: the summary is\n%s\nand not\n%s", of, got, want)
		}
		for name, file := range shardedOutputs {
			if name == "report" && !withPage {
				continue
			}
			got := strings.ReplaceAll(read(t, filepath.Join("merged", file)), "merged/", "whole/") // the audit names the outputs
			if want := read(t, filepath.Join("whole", file)); got != want && file != "report.html" {
				t.Errorf("%d shards: %s is\n%.2000s\nand not\n%.2000s", of, file, got, want)
			} else if file == "report.html" && len(got) != len(want) { // the order of what is explained is any
				t.Errorf("%d shards: the page has %d bytes, not %d", of, len(got), len(want))
			}
		}
	}
}

// TestShards: in every format, with documents that have no features, no text or no id, the outputs of shards are those of one call.
func TestShards(t *testing.T) {
	t.Chdir(t.TempDir())
	perFile := 100
	if testing.Short() {
		perFile = 25
	}
	lines := append(revisions(1, 30*perFile), revisions(2, 9*perFile)...)
	lines = append(lines, `{"id":"e1","text":"..."}`, `{"id":"e2","text":"..."}`, `{"id":"e3","text":"!!!"}`, `{"id":"b1","text":""}`, `{"id":"b2","text":" "}`)
	rand.New(rand.NewPCG(5, 5)).Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	all := strings.Join(lines, "\n") + "\n"
	os.WriteFile("all.jsonl", []byte(all), 0o666)
	checkShards(t, true, "all.jsonl")
	checkShards(t, false, "--keep", "longest", "--linkage", "single", "--kinds", "all", "--empty", "drop", "all.jsonl")
	checkShards(t, false, "--method", "cosine", "--similarity", "0.5", "all.jsonl")
	if status, _, stderr := callHere("dedup", "-q", "--method", "cosine", "--similarity", "0.5", "--weights", "logidf", "--stats", "stats", "--boilerplate", "3", "--lines", "lines", "all.jsonl"); status != 0 {
		t.Fatal(stderr)
	}
	checkShards(t, false, "--method", "cosine", "--similarity", "0.5", "--weights", "logidf", "--stats", "stats", "--boilerplate", "3", "--lines", "lines", "all.jsonl")
	os.WriteFile("bad.jsonl", []byte("no JSON\n"+all+"{\n"), 0o666)
	checkShards(t, false, "--skip-bad", "bad.jsonl")
	os.Mkdir("files", 0o777)
	for i := range 30 { // so many that a shard takes whole files
		os.WriteFile(fmt.Sprintf("files/%02d.jsonl", i), []byte(strings.Join(lines[i*perFile:(i+1)*perFile], "\n")), 0o666)
	}
	checkShards(t, false, "files")
}

// The same on real texts.
func TestShardsOfData(t *testing.T) {
	dir := os.Getenv("NEARDUP_DATA")
	if dir == "" {
		t.Skip("NEARDUP_DATA is not set")
	}
	all, err := filepath.Glob(filepath.Join(dir, "*", "docs.jsonl.gz"))
	if err != nil || len(all) < 10 {
		t.Fatal(err, len(all))
	}
	for _, path := range all {
		if name := filepath.Base(filepath.Dir(path)); testing.Short() && name != "en-records-stroke" {
			continue
		}
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			t.Chdir(t.TempDir())
			if strings.HasPrefix(filepath.Base(filepath.Dir(path)), "rec-") {
				t.Skip("records, which have no text")
			}
			checkShards(t, false, path)
		})
	}
}

// TestBadShards: what does not fit together, or is damaged, is an error that says what.
func TestBadShards(t *testing.T) {
	t.Chdir(t.TempDir())
	os.WriteFile("in.jsonl", []byte(strings.Join(revisions(1, 200), "\n")), 0o666)
	dedup := func(shard, dir string, more ...string) []string {
		return append([]string{"dedup", "--shard", shard, "--state", dir, "--groups", "c"}, append(more, "in.jsonl")...)
	}
	fail, work := calls(t)
	for _, shard := range []string{"0/2", "3/2", "1", "1/2/3", "x", "1/0", "-1/2", "1/100000"} {
		fail("--shard", dedup(shard, "p")...)
	}
	fail("--state", "dedup", "--shard", "1/2", "in.jsonl")
	fail("--same-id first", dedup("1/2", "p", "--same-id", "first")...)
	fail("--method", dedup("1/2", "p", "--method", "simhash")...)
	fail("no shard sees", dedup("1/2", "p", "--method", "cosine", "--weights", "tfidf", "--stats", "none")...)
	fail("no shard sees", dedup("1/2", "p", "--boilerplate", "5", "--lines", "nothing")...)
	fail("regular file", append(dedup("1/2", "p"), "-")...)
	work(dedup("1/2", "a")...)
	work(dedup("1/2", "a")...) // again
	fail("shard 2/2 is missing", "merge", "a")
	fail("another run", dedup("2/2", "a")...)
	fail("is the directory of a shard", "dedup", "--state", "a", "in.jsonl")
	work(dedup("2/2", "other", "--keep", "longest")...)
	fail("different flags", "merge", "a", "other")
	work(dedup("2/2", "b")...)
	fail("both have shard", "merge", "a", "b", "b")
	work(dedup("1/3", "third")...)
	fail("of 3", "merge", "a", "b", "third")
	fail("has not been done", "merge", "--step", "compare", "--shard", "1/2", "a", "b")
	fail("must be join or compare", "merge", "--step", "x", "--shard", "1/2", "a", "b")
	fail("--shard", "merge", "--step", "join", "a", "b")
	fail("2 shards", "merge", "--step", "join", "--shard", "1/3", "a", "b")
	fail("--step", "merge", "--shard", "1/2", "a", "b")
	fail("no such file", "merge", "nothing")
	for k := 1; k <= 2; k++ {
		work("merge", "--step", "join", "--shard", fmt.Sprintf("%d/2", k), "a", "b")
	}
	work("merge", "--step", "compare", "--shard", "1/2", "a", "b")
	work("merge", "a", "b")
	want := read(t, "c")
	files, _ := filepath.Glob("a/part*")
	if len(files) != 7 {
		t.Fatal(files)
	}
	for _, path := range files { // each byte counts
		b := []byte(read(t, path))
		for _, at := range []int{0, len(b) / 3, len(b) - 9} {
			for _, damaged := range [][]byte{b[:at], append(append(slices.Clone(b[:at]), b[at]^4), b[at+1:]...), append(slices.Clone(b), 'x')} {
				os.WriteFile(path, damaged, 0o666)
				os.Remove("c")
				for _, args := range [][]string{{"merge", "a", "b"}, {"merge", "--step", "join", "--shard", "1/2", "a", "b"}, {"merge", "--step", "compare", "--shard", "2/2", "a", "b"}} {
					status, _, stderr := callHere(args...)
					if len(args) == 3 && status == 0 && read(t, "c") != want {
						t.Errorf("%s: byte %d: other groups", path, at)
					}
					if status != 0 && !strings.Contains(stderr, filepath.Base(path)) && !strings.Contains(stderr, "belongs to other shards") && !strings.Contains(stderr, "different flags") && !strings.Contains(stderr, "missing") && !strings.Contains(stderr, "have changed") && !strings.Contains(stderr, "has not been done") {
						t.Errorf("%s: byte %d: %s", path, at, stderr)
					}
				}
				os.WriteFile(path, b, 0o666)
				os.Remove("b/part.found")
			}
		}
	}
	later := time.Now().Add(time.Hour)
	os.Chtimes("in.jsonl", later, later)
	fail("have changed", "merge", "a", "b")
	os.Remove("in.jsonl")
	fail("in.jsonl", "merge", "a", "b")
}

// TestShardsTwice: an id that documents of two shards have is an error, as it is in one call, or gets a number.
func TestShardsTwice(t *testing.T) {
	t.Chdir(t.TempDir())
	lines := revisions(3, 2000)
	lines[1900] = lines[3]
	os.WriteFile("in.jsonl", []byte(strings.Join(lines, "\n")), 0o666)
	for k := 1; k <= 2; k++ {
		if status, _, stderr := callHere("dedup", "--shard", fmt.Sprintf("%d/2", k), "--state", fmt.Sprint(k), "--groups", "c", "in.jsonl"); status != 0 {
			t.Fatal(stderr)
		}
	}
	_, _, want := callHere("dedup", "--groups", "c", "in.jsonl")
	if status, _, got := callHere("merge", "1", "2"); status != 1 || got != want || !strings.Contains(got, "in.jsonl:1901: ") {
		t.Errorf("%d: %s\nand not\n%s", status, got, want)
	}
	checkShards(t, false, "--same-id", "number", "in.jsonl")
	var all strings.Builder // with ids and texts that come again in every shard
	for i, line := range revisions(4, 3000) {
		all.WriteString(regexp.MustCompile(`"id":"[^"]*"`).ReplaceAllString(line, fmt.Sprintf(`"id":"a%d"`, i%7)) + "\n")
		if i%500 == 0 {
			all.WriteString(strings.Replace(line, `"id"`, `"no"`, 1) + "\n" + revisions(4, 1)[0] + "\n")
		}
	}
	os.WriteFile("in.jsonl", []byte(all.String()), 0o666)
	checkShards(t, false, "--same-id", "number", "in.jsonl")
	os.WriteFile("none.jsonl", []byte(regexp.MustCompile(`"id":"[^"]*",`).ReplaceAllString(all.String(), "")), 0o666)
	checkShards(t, false, "--without-id", "hash", "none.jsonl")
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write([]byte(all.String()))
	w.Close()
	os.WriteFile("cut.jsonl.gz", z.Bytes()[:z.Len()*2/3], 0o666)
	checkShards(t, false, "--skip-bad", "--same-id", "number", "cut.jsonl.gz", "nothing.jsonl")
}

// TestShardsFiles: no file of anybody is overwritten, and what the shards have learnt from must be there.
func TestShardsFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	os.WriteFile("in.jsonl", []byte(strings.Join(revisions(1, 200), "\n")), 0o666)
	fail, work := calls(t)
	os.Mkdir("d", 0o777)
	os.WriteFile("d/part.texts", []byte(read(t, "in.jsonl")), 0o666)
	fail("an input and an output", "dedup", "--format", "jsonl", "--shard", "1/1", "--state", "d", "--groups", "c", "d/part.texts")
	fail("already exists", "dedup", "--shard", "1/1", "--state", "d", "--groups", "c", "in.jsonl")
	if read(t, "d/part.texts") != read(t, "in.jsonl") {
		t.Error("a file was overwritten")
	}
	os.Mkdir("p", 0o777)
	work("dedup", "--shard", "1/1", "--state", "p", "--groups", "p/part.links", "in.jsonl")
	os.WriteFile("p/part.links", nil, 0o666)
	fail("also an output", "merge", "p")
	fail("the folder none does not exist", "dedup", "--shard", "1/1", "--state", "q", "--groups", "none/c", "in.jsonl")
	fail("cannot be written", "dedup", "--shard", "1/1", "--state", "q", "--out", "x.unknown", "in.jsonl")
	fail("UTF-8", "dedup", "--shard", "1/1", "--state", "q", "--groups", "c\xff", "in.jsonl")
	os.WriteFile("in\xff.jsonl", []byte(read(t, "in.jsonl")), 0o666)
	fail("UTF-8", "dedup", "--shard", "1/1", "--state", "q", "--groups", "c", "in\xff.jsonl")
	work("dedup", "--boilerplate", "3", "--lines", "lines", "--groups", "c", "in.jsonl")
	work("dedup", "--shard", "1/1", "--state", "l", "--boilerplate", "3", "--lines", "lines", "--groups", "c", "in.jsonl")
	os.Rename("lines", "other")
	fail("does not exist", "merge", "l")
	if _, err := os.Stat("lines"); err == nil {
		t.Error("lines were looked for again")
	}
	var common strings.Builder
	for i := range 9 {
		fmt.Fprintf(&common, "{\"id\":\"%d\",\"text\":\"a line that is common to all\\nand one of its own: %d\"}\n", i, i)
	}
	os.WriteFile("common.jsonl", []byte(common.String()), 0o666)
	work("dedup", "--boilerplate", "3", "--lines", "lines", "--groups", "c", "common.jsonl")
	fail("has changed", "merge", "l")
	os.WriteFile("secret", []byte("a secret of 16 bytes and more"), 0o666)
	work("dedup", "--shard", "1/2", "--state", "s1", "--secret", "secret", "--groups", "c", "in.jsonl")
	os.WriteFile("secret", []byte("another secret of 16 bytes and more"), 0o666)
	work("dedup", "--shard", "2/2", "--state", "s2", "--secret", "secret", "--groups", "c", "in.jsonl")
	fail("different flags", "merge", "s1", "s2")
}

// TestShardKilled: a shard that was killed is made again.
func TestShardKilled(t *testing.T) {
	program := filepath.Join(t.TempDir(), "neardup")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Chdir(t.TempDir())
	os.WriteFile("in.jsonl", []byte(strings.Join(revisions(4, 4000), "\n")), 0o666)
	shard := func(k int) *exec.Cmd {
		return exec.Command(program, "dedup", "--shard", fmt.Sprintf("%d/2", k), "--state", fmt.Sprint("p", k), "--groups", "merged", "in.jsonl")
	}
	if status, _, stderr := callHere("dedup", "--groups", "whole", "in.jsonl"); status != 0 {
		t.Fatal(stderr)
	}
	want := read(t, "whole")
	began := time.Now()
	if out, err := shard(2).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	takes, incomplete := time.Since(began), 0
	const kills = 8
	for i := range kills + 1 { // the last one may end
		cmd := shard(1)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if i < kills {
			time.Sleep(takes * time.Duration(i) / kills)
			cmd.Process.Kill()
		}
		if err := cmd.Wait(); err != nil && i == kills {
			t.Fatal(err)
		}
		os.Remove("merged")
		switch status, _, stderr := callHere("merge", "p1", "p2"); { // a shard that is killed just before it ends may be whole
		case status == 0 && read(t, "merged") != want:
			t.Fatalf("kill %d: other groups", i)
		case status != 0 && (i == kills || !strings.Contains(stderr, "part")):
			t.Error(stderr)
		case status != 0:
			incomplete++
		}
	}
	if incomplete == 0 {
		t.Error("no shard was killed in time")
	}
}
