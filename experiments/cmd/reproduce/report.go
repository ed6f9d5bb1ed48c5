package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/neardup/neardup/experiments/internal/figure"
)

// A report is a page of Markdown, with figures beside it.
type report struct {
	strings.Builder
	dir    string
	glance [][]string // rows of the table at the head
	at     int        // where that is to be
}

// headline adds a row to the table at the head: what a paper published, what its method does here, and the library.
func (r *report) headline(what, paper, method, library string) {
	r.glance = append(r.glance, []string{what, paper, method, library})
}

func (r *report) section(level int, format string, args ...any) {
	fmt.Fprintf(r, "%s %s\n\n", strings.Repeat("#", level), fmt.Sprintf(format, args...))
}

// text writes a paragraph.
func (r *report) text(format string, args ...any) { fmt.Fprintf(r, format+"\n\n", args...) }

// code writes a block as it is.
func (r *report) code(block string) { fmt.Fprintf(r, "```text\n%s```\n\n", block) }

// table writes rows of cells below their heads. A head that ends in a space is that of words, which are set left; others
// are set right.
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

// figure writes a figure into a file, and shows it.
func (r *report) figure(name, caption string, p *figure.Plot) error {
	if err := p.Save(filepath.Join(r.dir, name+".svg")); err != nil {
		return err
	}
	fmt.Fprintf(r, "![%s](%s.svg)\n\n*%s*\n\n", p.Title.Text, name, caption)
	return nil
}

func (r *report) write(path string) error {
	var head report
	head.section(2, "At a glance")
	head.table([]string{"experiment ", "published, on data that are lost ", "the paper's method here ", "the library's default here "}, r.glance)
	page := r.String()
	page = page[:r.at] + head.String() + strings.TrimRight(page[r.at:], "\n") + "\n"
	return os.WriteFile(path, []byte(page), 0o644)
}

// cells formats values, one in a cell.
func cells(format string, values ...float64) (row []string) {
	for _, v := range values {
		row = append(row, fmt.Sprintf(format, v))
	}
	return row
}

// head says what was run, where, and on what.
func (l *lab) head(dir string, chosen []experiment) {
	l.section(1, "The five papers, reproduced")
	command := "go run -C experiments ./cmd/reproduce"
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
	l.text("S000 to S004 are the five papers that the library implements; [doc.go](../../doc.go) names them. **Their data are lost**, and with them most " +
		"of their figures. Where a value of theirs stands beside one of ours, it was measured on other data: that is a comparison, and no victory. What can be " +
		"said is what each method does on one and the same collection, and that the numbers that do not depend on data come out as they should.")
	l.at = l.Len()
}

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
