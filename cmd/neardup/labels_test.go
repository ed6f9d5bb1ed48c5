package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/cmd/neardup/cli"
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

// TestTwentyLabels labels the twenty most doubtful pairs of the page, as its buttons do, and calibrates with them. The
// bias moves towards that of the full truth, and not past it by much.
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
	calibrate := func(docs string, labels [][2]string, is map[[2]string]bool, flags ...string) (bias float64) {
		var b strings.Builder
		for _, p := range labels {
			line, _ := json.Marshal(map[string]any{"a": p[0], "b": p[1], "same": is[p]})
			b.Write(append(line, '\n'))
		}
		os.WriteFile("labels.jsonl", []byte(b.String()), 0o666)
		out := call(append([]string{"calibrate", "-q", "labels.jsonl", docs}, flags...)...)
		threshold := 0.0
		if _, err := fmt.Sscanf(out, "--probability %f --bias=%f", &threshold, &bias); err != nil || threshold != 0.5 {
			t.Fatalf("%s: %v", out, err)
		}
		return bias
	}
	for _, set := range []string{"zh-revisions", "en-versions"} { // in zh-laws, some near-duplicates are not labelled
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
			P         []float64
		}
		if err := json.Unmarshal(regexp.MustCompile(`(?s)id="data">(.*?)</script>`).FindSubmatch(page)[1], &of); err != nil {
			t.Fatal(err)
		}
		order := make([]int, len(of.P))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(i, j int) int {
			return cmp.Compare(math.Abs(of.P[i]-of.Threshold), math.Abs(of.P[j]-of.Threshold))
		})
		var labels [][2]string
		for _, i := range order[:20] {
			labels = append(labels, [2]string{of.IDs[of.A[i]], of.IDs[of.B[i]]})
		}
		got := calibrate(docs, labels, is)
		t.Logf("%s: bias %.2f with twenty labels, %.2f with the full truth", set, got, want)
		if math.Abs(got-want) > math.Abs(want)+0.5 {
			t.Errorf("%s: %.2f is farther from %.2f than no bias", set, got, want)
		}
	}
}
