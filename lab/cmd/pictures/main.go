// Command pictures draws the pictures of README.md from its tables, so that a picture never says something else than its table:
//
//	go run -C lab ./cmd/pictures
//
// It writes docs/figures/f1.svg and docs/figures/time.svg. A test fails if they are not those of the tables.
package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"

	"github.com/neardup/neardup/lab/figure"
)

func main() {
	log.SetFlags(0)
	if err := draw(filepath.Join("..", "README.md"), filepath.Join("..", "docs", "figures")); err != nil {
		log.Fatal("pictures: ", err)
	}
}

// draw draws the pictures of a page into a folder.
func draw(page, folder string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	quality, err := table(string(text), "| collection |")
	if err != nil {
		return err
	}
	if err := drawF1(quality, filepath.Join(folder, "f1.svg")); err != nil {
		return err
	}
	cost, err := table(string(text), "| | 10,000 (11 MB) |")
	if err != nil {
		return err
	}
	return drawTime(cost, filepath.Join(folder, "time.svg"))
}

// table returns the rows of a table in Markdown, with its head, which begins with some text.
func table(page, begin string) (rows [][]string, err error) {
	_, rest, ok := strings.Cut("\n"+page, "\n"+begin)
	if !ok {
		return nil, fmt.Errorf("no table that begins with %q", begin)
	}
	for line := range strings.Lines(begin + rest) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if cells[len(cells)-1] != "---" {
			rows = append(rows, cells)
		}
	}
	return rows, nil
}

// drawF1 draws the F1 of each method on each collection.
func drawF1(rows [][]string, path string) error {
	p := figure.New("Pairwise F1 by collection, with default settings", "collection, in the order of the table", "F1")
	var names []string
	at := make([]float64, len(rows)-1)
	for i := range at {
		names, at[i] = append(names, strconv.Itoa(i+1)), float64(i)
	}
	p.Categories(names...)
	p.Y.Min, p.Y.Max = 0, 1
	bold := regexp.MustCompile(`\*\*([0-9.]+)\*\*`)
	for style, column := range []struct {
		at   int
		name string
	}{{2, "dedup, left out of the fit"}, {3, "MinHash, 3 words, 0.7"}, {5, "SimHash, distance 3"}} {
		y := make([]float64, len(at))
		for i, row := range rows[1:] {
			cell := row[column.at]
			if m := bold.FindStringSubmatch(cell); m != nil {
				cell = m[1]
			}
			var err error
			if y[i], err = strconv.ParseFloat(cell, 64); err != nil {
				return fmt.Errorf("the F1 of %s: %w", row[0], err)
			}
		}
		p.Points(column.name, style, at, y)
	}
	p.Width, p.Height = 18*vg.Centimeter, 8*vg.Centimeter
	return p.Save(path)
}

// drawTime draws the time of each method by documents.
func drawTime(rows [][]string, path string) error {
	p := figure.New("Time from file to pairs, two processors", "documents of 1 KB", "seconds")
	p.Log()
	number := regexp.MustCompile(`^[0-9,]+`)
	for style, row := range rows[1:] {
		var x, y []float64
		for i, cell := range row[1:] {
			documents, err := strconv.ParseFloat(strings.ReplaceAll(number.FindString(rows[0][i+1]), ",", ""), 64)
			if err != nil {
				return fmt.Errorf("the head %q: %w", rows[0][i+1], err)
			}
			seconds, _, _ := strings.Cut(cell, " s")
			s, err := strconv.ParseFloat(seconds, 64)
			if err != nil {
				return fmt.Errorf("the time of %s: %w", row[0], err)
			}
			x, y = append(x, documents), append(y, s)
		}
		p.Line(strings.ReplaceAll(row[0], "`", ""), style, x, y)
	}
	p.Width, p.Height = 18*vg.Centimeter, 8*vg.Centimeter
	return p.Save(path)
}
