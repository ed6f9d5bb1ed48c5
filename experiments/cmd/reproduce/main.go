// Command reproduce does the experiments of the five papers, S000 to S004, with the library, and writes
// what it found into a report with figures:
//
//	go run -C experiments ./cmd/reproduce [-only E000,E004] [-data DIR] [-out DIR]
//
// The data of the papers are lost. With -data, or $NEARDUP_DATA, it uses the collections that the README of the
// repository describes, and without the few texts that are in the repository. Counts and qualities are
// the same every time, and times are those of the machine.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// An experiment is the one of a paper.
type experiment struct {
	name, title string
	run         func(*lab) error
}

var experiments = []experiment{
	{"E000", "S000: four texts, and three measures", e000},
	{"E001", "S001: the program of 2013, and short texts", e001},
	{"E002", "S002: term length, metadata and second-level buckets", e002},
	{"E003", "S003: rows of a database", e003},
	{"E004", "S004: part of speech, length, markers and title", e004},
}

func main() {
	only := flag.String("only", "", "comma-separated experiments, of E000 to E004; none: all")
	dir := flag.String("data", os.Getenv("NEARDUP_DATA"), "`DIR` with zh-topics, zh-revisions and zh-short-pairs; by default $NEARDUP_DATA; empty: the texts in the repository")
	out := flag.String("out", "out", "`DIR` for REPORT.md and the figures")
	small := flag.Bool("small", false, "a tenth of everything, to see whether it runs")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "reproduce: %q is no flag; which experiments is said by -only\n", flag.Arg(0))
		os.Exit(2)
	}
	if err := reproduce(*only, *dir, *out, *small); err != nil {
		fmt.Fprintln(os.Stderr, "reproduce:", err)
		os.Exit(1)
	}
}

func reproduce(only, dir, out string, small bool) error {
	chosen := experiments
	if only != "" {
		chosen = nil
		for name := range strings.SplitSeq(only, ",") {
			i := slices.IndexFunc(experiments, func(e experiment) bool { return strings.EqualFold(e.name, strings.TrimSpace(name)) })
			if i < 0 {
				return fmt.Errorf("no experiment %q; there are E000 to E004", name)
			}
			if !slices.ContainsFunc(chosen, func(e experiment) bool { return e.name == experiments[i].name }) {
				chosen = append(chosen, experiments[i])
			}
		}
	}
	l := &lab{small: small, start: time.Now(), report: report{dir: out}}
	l.step("reading")
	l.full = dir != "" && !small
	var err error
	if l.data, err = readData(dir, small); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	l.head(dir, chosen)
	for _, e := range chosen {
		l.name = e.name
		l.section(2, "%s · %s", e.name, e.title)
		start := time.Now()
		if err := e.run(l); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		l.text("*%s took %.0f s.*", e.name, time.Since(start).Seconds())
	}
	path := filepath.Join(out, "REPORT.md")
	l.step("writing %s", path)
	return l.report.write(path)
}

// A lab is where experiments are done.
type lab struct {
	report
	data  *data
	small bool
	full  bool   // the collections of NEARDUP_DATA, all of them
	name  string // of the experiment
	start time.Time
}

// step says what is being done now, on the standard error.
func (l *lab) step(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%4.0f s  %-5s %s\n", time.Since(l.start).Seconds(), l.name, fmt.Sprintf(format, args...))
}

// remark writes a paragraph that says what the numbers of a full run show; other collections may show something else.
func (l *lab) remark(format string, args ...any) {
	if l.full {
		l.text(format, args...)
	}
}

// size returns n, or a tenth of it if all is to be small.
func (l *lab) size(n int) int {
	if l.small {
		return max(n/10, 1)
	}
	return n
}
