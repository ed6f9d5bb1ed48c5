package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/fingerprints"
	"github.com/neardup/neardup/cmd/neardup/input"
)

// The tables of fingerprint have what the library computes, for every document, in the order of the inputs.
func TestFingerprint(t *testing.T) {
	t.Chdir(t.TempDir())
	lines := append(revisions(5, 600), `{"id":"none","text":"…"}`, `{"id":"again","text":"one text"}`, `{"id":"and again","text":"one text"}`)
	os.WriteFile("a.jsonl", []byte(strings.Join(lines, "\n")+"\n"), 0o666)
	texts := map[string]string{}
	var ids []string
	for _, line := range lines {
		var d input.Document
		it := input.Item{Raw: []byte(line)}
		d, err := it.Parse(&input.Source{Format: "jsonl"}, input.Columns{ID: "id", Text: "text"}, new(input.Decoder))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, strings.Clone(d.ID))
		texts[ids[len(ids)-1]] = strings.Clone(d.Text)
	}
	var f neardup.Fingerprinter
	for _, c := range []struct{ file, flags string }{{"a.csv", ""}, {"a.parquet", ""}, {"b.csv.gz", "--bits=128"}, {"b.parquet", "--bits=128"}, {"c.csv", "--method=minhash"}, {"c.parquet", "--method=minhash"}, {"w.csv", "--workers=1"}} {
		args := append([]string{"fingerprint", "a.jsonl", "--out=" + c.file}, strings.Fields(c.flags)...)
		if _, stderr, status := runProgram(t, "", args...); status != 0 || !strings.Contains(stderr, fmt.Sprintf("%d documents, 1 of them without features", len(lines))) {
			t.Fatalf("%v: status %d: %s", args, status, stderr)
		}
		var want [][]string
		for _, id := range ids {
			text := texts[id]
			cells := []string{id, "", ""}[:2]
			fp, wide, sig := f.Sum64(neardup.Text(text)), f.Sum128(neardup.Text(text)), f.Sign(neardup.Text(text), neardup.MinHash{})
			if c.flags == "--bits=128" {
				cells = append(cells, "")
			}
			switch {
			case fp == 0:
			case c.flags == "--bits=128":
				cells[1], cells[2] = fmt.Sprint(int64(wide.Lo)), fmt.Sprint(int64(wide.Hi))
			case c.flags == "--method=minhash":
				cells[1] = strings.ReplaceAll(strings.Trim(fmt.Sprint(fingerprints.Signed(sig)), "[]"), " ", ",")
			default:
				cells[1] = fmt.Sprint(int64(fp))
			}
			want = append(want, cells)
		}
		if got := tableRows(t, c.file); !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("%s %s: %d rows: %.200v, not %.200v", c.file, c.flags, len(got), got, want)
		}
	}
	for _, args := range [][]string{{"--out=a.txt"}, {"--out=x.csv", "--method=other"}, {"--out=x.csv", "--method=auto", "--bits=128"}, {"--out=x.csv", "--values=64"}, {"--out=a.jsonl"}} {
		if _, stderr, status := runProgram(t, "", append([]string{"fingerprint", "a.jsonl"}, args...)...); status != 2 || !strings.HasPrefix(stderr, "neardup: ") {
			t.Errorf("%v: status %d: %s", args, status, stderr)
		}
	}
}

// runProgram runs the program in the current folder.
func runProgram(t *testing.T, stdin string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	var out, errs bytes.Buffer
	status = run(args, new(cli.Outputs), strings.NewReader(stdin), &out, &errs)
	return out.String(), errs.String(), status
}

// tableRows reads a table without its header. A list is its numbers with commas between.
func tableRows(t *testing.T, path string) (rows [][]string) {
	t.Helper()
	if strings.Contains(path, ".csv") {
		s := input.Source{Path: path, Format: "csv"}
		var err error
		if s.Info, err = os.Stat(path); err != nil {
			t.Fatal(err)
		}
		r, done, err := s.Open(nil, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		defer done()
		if rows, err = csv.NewReader(r).ReadAll(); err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			row[1] = strings.Trim(row[1], "{}")
		}
		return rows[1:]
	}
	number := func(x *int64) string {
		if x == nil {
			return ""
		}
		return fmt.Sprint(*x)
	}
	// Another library than the one that wrote it reads the table.
	type narrow struct {
		ID          string `parquet:"id"`
		Fingerprint *int64 `parquet:"fingerprint,optional"`
	}
	type wide struct {
		ID              string `parquet:"id"`
		Fingerprint     *int64 `parquet:"fingerprint,optional"`
		FingerprintHigh *int64 `parquet:"fingerprint_high,optional"`
	}
	type signed struct {
		ID        string  `parquet:"id"`
		Signature []int32 `parquet:"signature,optional,list"`
	}
	switch path[0] {
	case 'a':
		all, err := parquet.ReadFile[narrow](path)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range all {
			rows = append(rows, []string{r.ID, number(r.Fingerprint)})
		}
	case 'b':
		all, err := parquet.ReadFile[wide](path)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range all {
			rows = append(rows, []string{r.ID, number(r.Fingerprint), number(r.FingerprintHigh)})
		}
	case 'c':
		all, err := parquet.ReadFile[signed](path)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range all {
			rows = append(rows, []string{r.ID, strings.ReplaceAll(strings.Trim(fmt.Sprint(r.Signature), "[]"), " ", ",")})
		}
	}
	return rows
}

// The command sql prints the script of package sql for what fingerprint writes.
func TestSQL(t *testing.T) {
	for _, c := range []struct{ args, has string }{
		{"duckdb --table documents", `GROUP BY "fingerprint"`},
		{"bigquery --table data.set --method minhash", "`signature`"},
		{"postgresql --table t --bits 128 --prefix near", `"near_groups"`},
	} {
		if stdout, stderr, status := runProgram(t, "", append([]string{"sql"}, strings.Fields(c.args)...)...); status != 0 || !strings.Contains(stdout, c.has) {
			t.Errorf("%s: status %d: %s%.300s", c.args, status, stderr, stdout)
		}
	}
	for _, args := range []string{"oracle --table t", "duckdb", "duckdb --table t --method other", "duckdb --table t --method auto --similarity 0.5", "duckdb --table t --method auto --distance 2", "duckdb --table t --blocks 2", "duckdb --table t --distance 0", "duckdb --table t --similarity 0.9", "duckdb --table t --method minhash --bits 128", "duckdb --table t --method minhash --similarity 0"} {
		if _, stderr, status := runProgram(t, "", append([]string{"sql"}, strings.Fields(args)...)...); status != 2 || !strings.HasPrefix(stderr, "neardup: ") {
			t.Errorf("%s: status %d: %s", args, status, stderr)
		}
	}
}
