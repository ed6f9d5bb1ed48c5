package main

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/neardup/neardup/lab/figure"
)

// This file writes the report in Markdown.

// A report is a page of Markdown with figures beside it.
type report struct {
	strings.Builder
	dir    string
	glance [][]string // rows of the table at the top
	at     int        // the position of that table
}

// headline adds a row to the table at the top: what a paper published, the result of its method
// here, and the result of the library.
func (r *report) headline(what, paper, method, library string) {
	r.glance = append(r.glance, []string{what, paper, method, library})
}

// section writes a heading.
func (r *report) section(level int, format string, args ...any) {
	fmt.Fprintf(r, "%s %s\n\n", strings.Repeat("#", level), fmt.Sprintf(format, args...))
}

// text writes a paragraph.
func (r *report) text(format string, args ...any) { fmt.Fprintf(r, format+"\n\n", args...) }

// code writes a block of text unchanged.
func (r *report) code(block string) { fmt.Fprintf(r, "```text\n%s```\n\n", block) }

// table writes a table. A heading that ends in a space is a column of words, aligned left; all
// others are aligned right.
func (r *report) table(heads []string, rows [][]string) {
	line := func(cells []string) { fmt.Fprintf(r, "| %s |\n", strings.Join(cells, " | ")) }
	line(heads)
	rule := make([]string, len(heads))
	for i, h := range heads {
		if rule[i] = "--:"; strings.HasSuffix(h, " ") {
			rule[i] = ":--"
		}
	}
	line(rule)
	for _, row := range rows {
		line(row)
	}
	r.WriteByte('\n')
}

// newFigure returns a figure without lines.
func newFigure(title, x, y string) *figure.Plot { return figure.New(title, x, y) }

// figure saves a figure to a file and adds it to the page.
func (r *report) figure(name, caption string, p *figure.Plot) error {
	if err := p.Save(filepath.Join(r.dir, name+".svg")); err != nil {
		return err
	}
	if least := p.CutAt(); least > 0 {
		caption += fmt.Sprintf(" The vertical axis begins at %g, not at 0.", least)
	}
	fmt.Fprintf(r, "![%s](%s.svg)\n\n*%s*\n\n", p.Title.Text, name, caption)
	return nil
}

// topicFigure draws a value of each system for each topic, and the one that was published.
func (l *lab) topicFigure(name, title, axis, caption string, systems []system, values [][]float64, published float64) error {
	p := newFigure(title, "topic", axis)
	p.Categories(l.data.topics...)
	least := 1.
	for _, v := range values {
		least = min(least, slices.Min(v))
	}
	p.Y.Min, p.Y.Max = max(0, math.Floor(5*least-0.5)/5), 1
	x := make([]float64, len(l.data.topics))
	for i := range x {
		x[i] = float64(i)
	}
	for i, s := range systems {
		p.Line(s.name, i, x, values[i])
	}
	p.Dashed("published", []float64{-0.4, float64(len(x)) - 0.6}, []float64{published, published})
	return l.figure(name, caption, p)
}

// write writes the page to a file, with the table at the top.
func (r *report) write(path string) error {
	var head report
	head.section(2, "At a glance")
	head.table([]string{"experiment ", "published, on data that are lost ", "the paper's method here ", "the library here "}, r.glance)
	page := r.String()
	page = page[:r.at] + head.String() + strings.TrimRight(page[r.at:], "\n") + "\n"
	return os.WriteFile(path, []byte(page), 0o644)
}

// cells returns a cell for each value.
func cells(format string, values ...float64) (row []string) {
	for _, v := range values {
		row = append(row, fmt.Sprintf(format, v))
	}
	return row
}

// head writes the beginning of the page: the command, the machine and the data.
func (l *lab) head(dir string, chosen []experiment) {
	l.section(1, "The five papers, reproduced")
	command := "go run -C lab ./cmd/reproduce"
	if len(chosen) < len(experiments) {
		var names []string
		for _, e := range chosen {
			names = append(names, e.name)
		}
		command += " -only " + strings.Join(names, ",")
	}
	on := "the texts in the repository"
	if dir != "" {
		command += " -data DIR"
		on = "the collections of `NEARDUP_DATA`"
	}
	if l.small {
		command += " -small"
	}
	l.text("Made by `%s` on %s; %d processors (%s), %s. Qualities and counts are the same every time; times are of this machine.",
		command, on, runtime.GOMAXPROCS(0), processor(), runtime.Version())
	l.text("Wang 2016, june 2013, Wang 2019, Li 2015 and Zhang 2020 are the four papers and the page of a blog (june 2013) that the library implements; [doc.go](../../doc.go) has their titles. **Their data are lost**, and with them most " +
		"of their figures. Where a value of theirs stands beside one of ours, it was measured on other data: such values can be compared only with care: they prove no method better. What can be " +
		"said is what each method does on one and the same collection, and that the numbers that do not depend on data come out as they should.")
	l.at = l.Len()
}

// processor returns the name of the processor, or the architecture if the name is unknown.
func processor() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if name, value, ok := strings.Cut(s.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
