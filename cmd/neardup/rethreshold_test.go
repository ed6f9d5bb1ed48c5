package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRethreshold: to decide again by pairs gives what dedup decides, and labels count.
func TestRethreshold(t *testing.T) {
	dir := formatFiles(t)
	ok := func(args string) string {
		t.Helper()
		status, out, errs := inDirectory(t, dir, strings.Fields(args)...)
		if status != 0 {
			t.Fatalf("%s: status %d: %s", args, status, errs)
		}
		return out
	}
	var docs strings.Builder // versions of pages, each of which changes a word more
	words := strings.Fields("the council of the town has decided to repair the old bridge across the river before the end of the year because many people walk there every day")
	for page := range 6 {
		for version := range 4 {
			text := append([]string(nil), words...)
			for k := range version * (page + 1) {
				text[(5*k+page)%len(text)] = fmt.Sprint("w", page, k)
			}
			fmt.Fprintf(&docs, "{\"id\":\"%d-%d\",\"text\":\"page%d %s%s\"}\n", page, version, page, strings.Repeat(fmt.Sprint("about", page, " "), 4*page+version), strings.Join(text, " "))
		}
	}
	os.WriteFile(filepath.Join(dir, "v.jsonl"), []byte(docs.String()), 0o666)
	for _, pairs := range []string{"pairs.csv", "pairs.jsonl", "pairs.tsv"} {
		ok("dedup -q --probability 0.05 --kinds all --pairs " + pairs + " v.jsonl")
		removed := map[int]bool{}
		for _, flags := range []string{"", "--probability 0.95", "--probability 0.2 --kinds all", "--linkage single", "--linkage complete --keep longest", "--keep newest"} {
			ok("dedup -q --groups a.csv --out a.jsonl --annotate a.out.jsonl " + flags + " v.jsonl")
			ok("rethreshold -q --groups b.csv --out b.jsonl --annotate b.out.jsonl --audit audit.csv " + flags + " " + pairs + " v.jsonl")
			for _, name := range []string{".csv", ".jsonl", ".out.jsonl"} {
				if a, b := read(t, "a"+name), read(t, "b"+name); a != b {
					t.Errorf("%s %s: %s\n%s\nand not\n%s", pairs, flags, name, b, a)
				}
			}
			ok("verify audit.csv v.jsonl")
			removed[strings.Count(read(t, "audit.csv"), "\n")] = true
		}
		if len(removed) < 3 {
			t.Errorf("the flags make no difference: %v", removed)
		}
	}
	// Labels: two of the first page are different, and two pages are the same.
	os.WriteFile(filepath.Join(dir, "labels.jsonl"), []byte(`{"a":"0-0","b":"0-1","same":false}`+"\n"+`{"a":"5-0","b":"0-0","same":true}`+"\n"+`{"keep":"1-2","instead":"1-0"}`+"\n"), 0o666)
	ok("rethreshold -q --groups l.tsv --labels labels.jsonl --linkage single pairs.jsonl v.jsonl")
	if got := read(t, "l.tsv"); !strings.Contains(got, "1-0\t1-2\n1-1\t1-2\n1-2\t1-2\n1-3\t1-2\n") {
		t.Errorf("with a choice: %s", got)
	}
	ok("rethreshold -q --groups l.tsv --labels labels.jsonl --probability 0.99999 pairs.jsonl v.jsonl")
	if got := read(t, "l.tsv"); !strings.Contains(got, "0-1\t0-1\n") || !strings.Contains(got, "5-0\t0-0\n") {
		t.Errorf("with labels: %s", got)
	}
	for name, rows := range map[string]string{"nan.csv": "a,b,similarity,kind,probability\n0-0,0-1,0.9,revised,NaN\n", "self.csv": "a,b,similarity\n0-0,0-0,0.9\n", "dist.tsv": "0-0\t0-1\t1\n"} {
		os.WriteFile(filepath.Join(dir, name), []byte(rows), 0o666)
	}
	for args, want := range map[string]string{
		"--labels labels.jsonl pairs.jsonl simhash.csv":             "labels.jsonl:1: no document in the inputs has the id \"0-0\"",
		"pairs.jsonl simhash.csv":                                   "pairs.jsonl:1: no document in the inputs has the id",
		"labels.jsonl v.jsonl":                                      "labels.jsonl:1: not a usable pair",
		"nan.csv v.jsonl":                                           "must be from 0 to 1",
		"self.csv v.jsonl":                                          "both ids are the same document",
		"dist.tsv v.jsonl":                                          "for distances and scores, run dedup again",
		"--groups pairs.csv pairs.csv v.jsonl":                      "pairs.csv: the same file is an input and an output",
		"nosuch.csv v.jsonl":                                        "nosuch.csv: no such file",
		"--kinds revised pairs.jsonl v.jsonl":                       "add identical",
		"--labels labels.jsonl --labels l2.jsonl pairs.csv v.jsonl": "l2.jsonl:1: another label file contradicts this label",
	} {
		os.WriteFile(filepath.Join(dir, "simhash.csv"), []byte("id,text\n1,one two\n"), 0o666)
		os.WriteFile(filepath.Join(dir, "l2.jsonl"), []byte(`{"b":"0-0","a":"0-1","same":true}`+"\n"), 0o666)
		if status, _, errs := inDirectory(t, dir, append([]string{"rethreshold"}, strings.Fields(args)...)...); status == 0 || !strings.Contains(errs, want) {
			t.Errorf("%s: status %d: %s", args, status, errs)
		}
	}
}
