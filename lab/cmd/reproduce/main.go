// Command reproduce repeats the experiments of the five papers with the library: Wang 2016, june
// 2013, Wang 2019, Li 2015 and Zhang 2020. It writes a report with figures:
//
//	go run -C lab ./cmd/reproduce [-only E000,E004] [-data DIR] [-out DIR]
//
// The data of the papers are lost. With -data or $NEARDUP_DATA, the command uses the collections
// that the README of the repository describes. Without them it uses the few texts that are in the
// repository. Counts and qualities are the same in every run; times depend on the machine.
//
// The files:
//
//	main.go                flags, and the list of experiments
//	data.go                the texts that the experiments use
//	systems.go, score.go   the methods that are compared, and how they are judged
//	report.go              the report in Markdown
//	e000.go … e004.go      the experiments, one file a paper
//	short.go               the part of E001 about short texts
//	rows.go, databases.go  parts of E003: quality on rows, and one by one, in a database too
//	segmenters.go          the part of E004 about segmenters
//	deviations.go          the table of what differs from the papers
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

// An experiment repeats what one paper did.
type experiment struct {
	name, title string
	run         func(*lab) error
}

var experiments = []experiment{
	{"E000", "Wang 2016: four texts, and three measures", e000},
	{"E001", "june 2013: the program of 2013, and short texts", e001},
	{"E002", "Wang 2019: term length, metadata and second-level buckets", e002},
	{"E003", "Li 2015: rows of a database", e003},
	{"E004", "Zhang 2020: part of speech, length, markers and title", e004},
}

func main() {
	only := flag.String("only", "", "comma-separated experiments, from E000 to E004; the default is all")
	dir := flag.String("data", os.Getenv("NEARDUP_DATA"), "`DIR` with zh-topics, zh-revisions and zh-short-pairs; the default is $NEARDUP_DATA, or else the texts in the repository")
	out := flag.String("out", "out", "`DIR` for REPORT.md and the figures")
	small := flag.Bool("small", false, "use a tenth of all data, to check quickly that everything runs")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "reproduce: %q is not a flag; choose experiments with -only\n", flag.Arg(0))
		os.Exit(2)
	}
	if err := reproduce(*only, *dir, *out, *small); err != nil {
		fmt.Fprintln(os.Stderr, "reproduce:", err)
		os.Exit(1)
	}
}

// reproduce runs the experiments that only names, or all, and writes the report to out.
func reproduce(only, dir, out string, small bool) error {
	chosen := experiments
	if only != "" {
		chosen = nil
		for name := range strings.SplitSeq(only, ",") {
			i := slices.IndexFunc(experiments, func(e experiment) bool { return strings.EqualFold(e.name, strings.TrimSpace(name)) })
			if i < 0 {
				return fmt.Errorf("there is no experiment %q, only E000 to E004", name)
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
	l.deviationTable(chosen)
	path := filepath.Join(out, "REPORT.md")
	l.step("writing %s", path)
	return l.report.write(path)
}

// A lab has what an experiment needs: the report, the data and the settings.
type lab struct {
	report
	data  *data
	small bool
	full  bool   // whether all collections of NEARDUP_DATA are used
	name  string // the current experiment
	start time.Time
	noted map[string]string // results for the table of deviations
}

// step prints to standard error what the program is doing now.
func (l *lab) step(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%4.0f s  %-5s %s\n", time.Since(l.start).Seconds(), l.name, fmt.Sprintf(format, args...))
}

// remark writes a paragraph about the numbers of a full run. It writes nothing in other runs,
// because other data may show something else.
func (l *lab) remark(format string, args ...any) {
	if l.full {
		l.text(format, args...)
	}
}

// size returns n, or a tenth of n with -small.
func (l *lab) size(n int) int {
	if l.small {
		return max(n/10, 1)
	}
	return n
}
