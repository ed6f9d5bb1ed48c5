package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// This file tests the report by source, and the limit on what may be removed (--source, --most-removed).

// pages writes a file with pages of a site that are nearly equal, and of two others: one that copies the other.
func pages(t *testing.T, path string) {
	t.Helper()
	var b strings.Builder
	line := func(id, site, text string) {
		doc, _ := json.Marshal(map[string]any{"id": id, "meta": map[string]any{"site": site}, "text": text})
		b.Write(append(doc, '\n'))
	}
	for i := range 30 {
		line(fmt.Sprintf("https://www.spam.example/%d", i), "spam", "This page is parked. Buy the name today, pay by card, and it is yours within the hour, whatever you want to do with it.")
		own := fmt.Sprintf("article %d about %s", i, strings.Repeat(fmt.Sprintf("word%d other%d thing%d ", i, i*7, i*13), 12))
		line(fmt.Sprintf("https://paper.example/%d", i), "paper", own)
		if i < 10 {
			line(fmt.Sprintf("https://mirror.example/%d", i), "mirror", own)
		}
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestSources: the summary says what is removed of each source, the id may name it, one copy of each source can be kept, and a call that removes too much of one stops
// before it writes anything.
func TestSources(t *testing.T) {
	t.Chdir(t.TempDir())
	pages(t, "in.jsonl")
	for _, test := range []struct{ field, want string }{{"meta.site", "spam 30 29 map[] paper 30 0 map[] mirror 10 10 map[paper:10]"}, {"id", "spam.example 30 29 map[] paper.example 30 0 map[] mirror.example 10 10 map[paper.example:10]"}} {
		status, out, stderr := callHere("dedup", "--json", "--source", test.field, "in.jsonl")
		var s struct {
			Sources []struct {
				Name               string
				Documents, Removed int
				Copies             map[string]int
			}
		}
		if err := json.Unmarshal([]byte(out), &s); err != nil || status != 0 {
			t.Fatal(err, stderr)
		}
		var got []string
		for _, x := range s.Sources {
			got = append(got, fmt.Sprint(x.Name, " ", x.Documents, " ", x.Removed, " ", x.Copies))
		}
		if got := strings.Join(got, " "); got != test.want {
			t.Errorf("by %s: %s", test.field, got)
		}
	}
	if _, out, _ := callHere("dedup", "--source", "meta.site", "in.jsonl"); !strings.Contains(out, "10 of 10  mirror, 10 of them like documents of paper") {
		t.Error(out)
	}
	if status, _, stderr := callHere("dedup", "--source", "meta.site", "--copies=source", "--out=out.jsonl", "in.jsonl"); status != 0 || strings.Count(read(t, "out.jsonl"), "mirror") != 20 || strings.Count(read(t, "out.jsonl"), "\n") != 41 {
		t.Error(stderr)
	}
	for _, flags := range [][]string{{"--source=meta.site", "--most-removed=0.5"}, {"--most-removed=0.4"}, {"--source=id", "--most-removed=0.9", "--state=s"}} {
		os.Remove("out.jsonl")
		status, _, stderr := callHere(append([]string{"dedup", "--out=out.jsonl", "in.jsonl"}, flags...)...)
		if _, err := os.Stat("out.jsonl"); status != 1 || err == nil || !strings.Contains(stderr, "more than --most-removed") || !strings.Contains(stderr, "This page is parked") {
			t.Errorf("%q: %d, %s", flags, status, stderr)
		}
	}
	if status, _, stderr := callHere("dedup", "--state=s", "in.jsonl"); status != 0 { // nothing of the call that was stopped is there
		t.Error(stderr)
	}
	if status, _, stderr := callHere("dedup", "--source=id", "--most-removed=0.99", "--out=out.jsonl", "in.jsonl"); status != 0 { // a source of ten is not guarded
		t.Error(stderr)
	}
	if err := os.WriteFile("in.csv", []byte("id,text\n1,one text\n2,another one\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{"--source=site in.csv": `no column "site"`, "--copies=source in.csv": "needs --source", "--most-removed=2 in.csv": "--most-removed", "--unit=id --source=id in.csv": "--unit and --source"} {
		if status, _, stderr := callHere(append([]string{"dedup"}, strings.Fields(args)...)...); status == 0 || !strings.Contains(stderr, want) {
			t.Errorf("%s: %d, %s", args, status, stderr)
		}
	}
}

// TestSourcesAgainst: the summary counts documents that copy an old collection, even one without sources.
func TestSourcesAgainst(t *testing.T) {
	t.Chdir(t.TempDir())
	pages(t, "in.jsonl")
	if status, _, stderr := callHere("dedup", "--method=simhash", "--save=old.fp", "in.jsonl"); status != 0 {
		t.Fatal(stderr)
	}
	status, out, stderr := callHere("dedup", "--method=simhash", "--source=meta.site", "--against=old.fp", "in.jsonl")
	if status != 0 || !strings.Contains(out, "30 of 30  spam, 30 of them like documents of earlier runs") || !strings.Contains(out, "10 of 10  mirror") {
		t.Error(out, stderr)
	}
}
