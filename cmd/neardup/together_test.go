package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestTogether: writing the outputs concurrently changes neither a byte of them nor the messages.
func TestTogether(t *testing.T) {
	dir := t.TempDir()
	for n, name := range []string{"a.jsonl", "b.csv", "c.jsonl"} {
		var b strings.Builder
		for i, line := range revisions(uint64(n+1), 300) {
			if strings.HasSuffix(name, ".csv") {
				line = fmt.Sprintf("%d,\"text %d of a page that has some words, and %d more\"", i, i/3, i)
			}
			fmt.Fprintln(&b, line)
		}
		text := b.String()
		if strings.HasSuffix(name, ".csv") {
			text = "id,text\n" + text
		}
		os.WriteFile(dir+"/"+name, []byte(text), 0o666)
	}
	var want, said string
	for _, workers := range []int{1, 3, 16} {
		outputs := map[string]string{"--pairs": "p.tsv", "--groups": "c.tsv", "--out": "o.jsonl.gz", "--annotate": "n.csv", "--audit": "a.csv", "--report": "r.html"}
		args := []string{"dedup", "--same-id", "number", "--workers", fmt.Sprint(workers)}
		for flag, path := range outputs {
			args = append(args, flag, path)
		}
		status, _, stderr := inDirectory(t, dir, append(args, "a.jsonl", "b.csv", "c.jsonl")...)
		if status != 0 {
			t.Fatal(stderr)
		}
		got := ""
		for _, flag := range []string{"--pairs", "--groups", "--out", "--annotate", "--audit"} {
			text := read(t, outputs[flag])
			if flag == "--audit" { // the settings name the workers, and the outputs in any order
				var rows []string
				for line := range strings.Lines(text) {
					rows = append(rows, line[:max(0, strings.LastIndexByte(line, ','))])
				}
				text = strings.Join(rows, "\n")
			}
			got += text
		}
		if want == "" {
			want, said = got, stderr
		}
		if got != want || stderr != said {
			t.Errorf("with %d workers the outputs differ, or the messages: %q instead of %q", workers, stderr, said)
		}
	}
}
