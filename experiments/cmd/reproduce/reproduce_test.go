package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// TestReproduce runs all experiments with -small, on the texts of the repository, on one and on
// three processors. Everything except times must be equal.
func TestReproduce(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute, and ten times that with the race detector")
	}
	// As go run -C experiments does.
	t.Chdir("../..")
	var reports [2]string
	dirs := [2]string{t.TempDir(), t.TempDir()}
	for i, processors := range []int{1, 3} {
		before := runtime.GOMAXPROCS(processors)
		err := reproduce("", "", dirs[i], true)
		runtime.GOMAXPROCS(before)
		if err != nil {
			t.Fatal(err)
		}
		page, err := os.ReadFile(filepath.Join(dirs[i], "REPORT.md"))
		if err != nil {
			t.Fatal(err)
		}
		reports[i] = string(page)
	}
	report := reports[0]
	if bad := regexp.MustCompile(`NaN|Inf\b|%!|\(MISSING\)`).FindString(report); bad != "" {
		t.Errorf("%q in the report", bad)
	}
	for _, want := range []string{"## E000", "## E001", "## E002", "## E003", "## E004",
		"9227223148898608264  26\n----274", "| μ = 10, mean over all | 50 | 26444 | 23186 | 2000 |", "| left out ", "| **all: P / R / F1** |"} {
		if !strings.Contains(report, want) {
			t.Errorf("no %q in the report", want)
		}
	}
	figures := regexp.MustCompile(`!\[[^]]+\]\(([^)]+)\)`).FindAllStringSubmatch(report, -1)
	if len(figures) < 14 {
		t.Errorf("%d figures", len(figures))
	}
	times := map[string]bool{"e002-levels.svg": true, "e003-hashes.svg": true, "e003-batch.svg": true, "e004-time.svg": true}
	for _, m := range figures {
		var svg [2]string
		for i, dir := range dirs {
			b, err := os.ReadFile(filepath.Join(dir, m[1]))
			if err != nil {
				t.Fatal(err)
			}
			svg[i] = string(b)
		}
		for d := xml.NewDecoder(strings.NewReader(svg[0])); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", m[1], err)
			}
		}
		if !times[m[1]] && svg[0] != svg[1] {
			t.Errorf("%s depends on the number of processors", m[1])
		}
	}
	// Everything except times is the same.
	lines := [2][]string{strings.Split(report, "\n"), strings.Split(reports[1], "\n")}
	if len(lines[0]) != len(lines[1]) {
		t.Fatal("reports of different lengths")
	}
	timed, section := 0, ""
	for i := range lines[0] {
		if strings.HasPrefix(lines[0][i], "### ") {
			section = lines[0][i]
		}
		if lines[0][i] == lines[1][i] {
			continue
		}
		if timed++; !strings.Contains(lines[0][i], "Single-Pass / index") && !regexp.MustCompile(`[Tt]ime|E003-3|E003-1`).MatchString(section) && !strings.HasPrefix(lines[0][i], "*E00") && !strings.HasPrefix(lines[0][i], "Made by") {
			t.Errorf("%s: %q and %q", section, lines[0][i], lines[1][i])
		}
	}
	if timed == 0 {
		t.Error("two runs took the same time")
	}
}

// TestOne runs a single experiment.
func TestOne(t *testing.T) {
	t.Chdir("../..")
	dir := t.TempDir()
	if err := reproduce("e000", "", dir, true); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "REPORT.md"))
	if err != nil || strings.Count(string(page), "\n## E") != 1 || !strings.Contains(string(page), "-only E000 -small") {
		t.Errorf("%v: %.300s", err, page)
	}
}

func TestErrors(t *testing.T) {
	for _, test := range []struct{ only, dir, want string }{
		{"E005", "", "no experiment"}, {"", "/no/such", "no such file"}, {"E000", "", "go run -C experiments"}, // in the wrong directory
	} {
		out := filepath.Join(t.TempDir(), "out")
		err := reproduce(test.only, test.dir, out, true)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v", test.only, err)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%q: something is written", test.only)
		}
	}
}
