package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/cmd/neardup/internal/cli"
)

// truthOf returns the pairs of duplicates of a set: of two columns, ids or an id and the number of a cluster.
func truthOf(t *testing.T, path string) (pairs [][2]string, is map[[2]string]bool) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var rows [][2]string
	clusters := map[string][]string{}
	for s := bufio.NewScanner(f); s.Scan(); {
		a, b, _ := strings.Cut(s.Text(), "\t")
		rows = append(rows, [2]string{a, b})
		clusters[b] = append(clusters[b], a)
	}
	if len(clusters) < len(rows) {
		rows = nil
		for _, ids := range clusters {
			for i, a := range ids {
				for _, b := range ids[:i] {
					rows = append(rows, [2]string{b, a})
				}
			}
		}
	}
	is = map[[2]string]bool{}
	for _, p := range rows {
		is[p], is[[2]string{p[1], p[0]}] = true, true
	}
	return rows, is
}

// TestTwentyLabels labels the twenty most doubtful pairs of the page, as its buttons do, and calibrates with them.
// The threshold comes within 0.02 of the one that the full truth gives.
func TestTwentyLabels(t *testing.T) {
	data := os.Getenv("NEARDUP_DATA")
	if data == "" || testing.Short() {
		t.Skip("NEARDUP_DATA is not set, or the test is to be short")
	}
	dir := t.TempDir()
	t.Chdir(dir)
	call := func(args ...string) string {
		var out, errs strings.Builder
		if status := run(args, &cli.Outputs{}, nil, &out, &errs); status != 0 {
			t.Fatalf("%q: status %d, %s", args, status, errs.String())
		}
		return out.String()
	}
	calibrate := func(docs string, labels [][2]string, is map[[2]string]bool, flags ...string) (least float64) {
		var b strings.Builder
		for _, p := range labels {
			line, _ := json.Marshal(map[string]any{"a": p[0], "b": p[1], "same": is[p]})
			b.Write(append(line, '\n'))
		}
		os.WriteFile("labels.jsonl", []byte(b.String()), 0o666)
		out := call(append([]string{"calibrate", "-q", "labels.jsonl", docs}, flags...)...)
		if _, err := fmt.Sscanf(out, "--similarity %f", &least); err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		return least
	}
	for _, set := range []string{"zh-revisions", "en-versions", "zh-laws"} {
		docs := filepath.Join(data, set, "docs.jsonl.gz")
		rows, is := truthOf(t, filepath.Join(data, set, "truth.tsv"))
		want := calibrate(docs, rows, is, "--complete")
		call("review", "-q", "--report", "page.html", docs)
		page, err := os.ReadFile("page.html")
		if err != nil {
			t.Fatal(err)
		}
		var of struct {
			Threshold float64
			IDs       []string
			A, B      []int
			S         []float64
		}
		if err := json.Unmarshal(regexp.MustCompile(`(?s)id="data">(.*?)</script>`).FindSubmatch(page)[1], &of); err != nil {
			t.Fatal(err)
		}
		order := make([]int, len(of.S))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(i, j int) int {
			a, b := math.Abs(of.S[i]-of.Threshold), math.Abs(of.S[j]-of.Threshold)
			switch {
			case a < b:
				return -1
			case a > b:
				return 1
			}
			return 0
		})
		var labels [][2]string
		for _, i := range order[:20] {
			labels = append(labels, [2]string{of.IDs[of.A[i]], of.IDs[of.B[i]]})
		}
		got := calibrate(docs, labels, is)
		t.Logf("%s: %.2f before, %.2f with twenty labels, %.2f with the full truth", set, of.Threshold, got, want)
		if math.Abs(got-want) > 0.0201 {
			t.Errorf("%s: %.2f is not within 0.02 of %.2f", set, got, want)
		}
	}
}
