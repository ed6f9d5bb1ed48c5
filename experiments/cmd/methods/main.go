// Command methods compares the methods of neardup on collections with truth:
//
//	go run -C experiments ./cmd/methods -data DIR [-sets zh-revisions,en-versions]
//
// For each it prints precision, recall and F1 by pairs, the time, and the peak of the memory of
// the process. What a method needs to be told, a distance or a similarity, is chosen as the best
// for one half of the groups of documents, and precision, recall and F1 are those of the other
// half; the last column is the F1 on all. The method auto is told nothing. Every method runs in a
// process of its own, which reads the texts first; the time is from the texts to the pairs.
package main

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/experiments/internal/dataset"
)

func main() {
	data := flag.String("data", os.Getenv("NEARDUP_DATA"), "`DIR` with a directory of each set, docs.jsonl.gz and truth.tsv in it; by default $NEARDUP_DATA")
	sets := flag.String("sets", "zh-revisions,en-versions", "comma-separated names of sets; those with fields are records")
	child := flag.String("method", "", "run one method only, and print what it finds as JSON; for the command itself")
	least := flag.Float64("least", 0, "with -method, the least similarity; 0: choose it")
	flag.Parse()
	err := error(nil)
	switch {
	case *data == "":
		err = fmt.Errorf("no -data")
	case *child != "":
		err = runOne(filepath.Join(*data, *sets), *child, *least)
	default:
		err = compareAll(*data, strings.Split(*sets, ","))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "methods:", err)
		os.Exit(1)
	}
}

// An outcome is what a process found.
type outcome struct {
	Least  float64 // the similarity that was chosen
	Half   counts  // of the other half
	All    counts
	Millis int64
}

// counts of pairs.
type counts struct{ Found, Right, Truth int }

func (c counts) f1() float64 { return 2 * float64(c.Right) / float64(c.Found+c.Truth) }

func (c counts) String() string {
	return fmt.Sprintf("%.4f %.4f %.4f", float64(c.Right)/float64(max(c.Found, 1)), float64(c.Right)/float64(max(c.Truth, 1)), c.f1())
}

func compareAll(data string, sets []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	call := func(set, method string, least float64) (o outcome, peak int64, err error) {
		cmd := exec.Command(self, "-data", data, "-sets", set, "-method", method, "-least", fmt.Sprint(least))
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return o, 0, fmt.Errorf("%s, %s: %w", set, method, err)
		}
		return o, peakOf(cmd.ProcessState), json.Unmarshal(out, &o)
	}
	for _, set := range sets {
		s, err := load(filepath.Join(data, set))
		if err != nil {
			return err
		}
		fmt.Printf("%s: %d documents, %d pairs\n%-34s %9s  %-20s %6s %7s  %s\n", set, len(s.docs), len(s.truth), "method", "setting", "P, R, F1 other half", "time", "memory", "F1, all")
		for _, m := range methodsOf(s) {
			least := m.fixed
			if least == 0 {
				chosen, _, err := call(set, m.name, 0)
				if err != nil {
					return err
				}
				least = chosen.Least
			}
			o, peak, err := call(set, m.name, least)
			if err != nil {
				return err
			}
			fmt.Printf("%-34s %9s  %s %5.2f s %4d MB  %.4f\n", m.name, m.show(least), o.Half, float64(o.Millis)/1000, peak>>20, o.All.f1())
		}
		fmt.Println()
	}
	return nil
}

// runOne runs a method on a set and prints its outcome.
func runOne(path, name string, least float64) error {
	s, err := load(path)
	if err != nil {
		return err
	}
	all := methodsOf(s)
	i := slices.IndexFunc(all, func(m method) bool { return m.name == name })
	if i < 0 {
		return fmt.Errorf("no method %q", name)
	}
	m, o := all[i], outcome{Least: least}
	if least == 0 {
		o.Least = s.choose(m)
	} else {
		start := time.Now()
		pairs := m.find(s, least)
		o.Millis = time.Since(start).Milliseconds()
		for _, p := range pairs {
			s.count(p, &o.Half, 1)
			s.count(p, &o.All, 2)
		}
		for p := range s.truth {
			if o.All.Truth++; s.half[p[0]] == 1 {
				o.Half.Truth++
			}
		}
	}
	return json.NewEncoder(os.Stdout).Encode(o)
}

// count counts a pair of a half, or of all (2).
func (s *set) count(p neardup.Pair[int], c *counts, half int) {
	if half == 2 || s.half[p.A] == half && s.half[p.B] == half {
		if c.Found++; s.truth.Has(p.A, p.B) {
			c.Right++
		}
	}
}

// choose returns the similarity with the best F1 on the first half.
func (s *set) choose(m method) float64 {
	pairs := m.find(s, m.loosest)
	slices.SortFunc(pairs, func(a, b neardup.Pair[int]) int { return cmp.Compare(b.Similarity, a.Similarity) })
	truth := 0
	for p := range s.truth {
		if s.half[p[0]] == 0 {
			truth++
		}
	}
	best, at, so := -1.0, 1.0, counts{Truth: truth}
	for i, p := range pairs {
		if s.count(p, &so, 0); i+1 < len(pairs) && pairs[i+1].Similarity == p.Similarity {
			continue
		}
		if f := so.f1(); f > best {
			if best, at = f, p.Similarity; i+1 < len(pairs) && m.bits == 0 { // in the middle of what does as well
				at = (p.Similarity + pairs[i+1].Similarity) / 2
			}
		}
	}
	return at
}

// A set is documents, texts or records, with truth.
type set struct {
	docs   []dataset.Document
	fields []string // of records
	truth  dataset.Truth
	half   []int
}

func load(path string) (s *set, err error) {
	s = &set{}
	if s.docs, err = dataset.Read(filepath.Join(path, "docs.jsonl.gz")); err != nil {
		return nil, err
	}
	for _, d := range s.docs {
		for name := range d.Fields {
			if d.Text == "" && !slices.Contains(s.fields, name) {
				s.fields = append(s.fields, name)
			}
		}
	}
	slices.Sort(s.fields)
	if s.truth, err = dataset.ReadTruth(filepath.Join(path, "truth.tsv"), s.docs); err != nil {
		return nil, err
	}
	for _, group := range s.truth.Groups(len(s.docs)) {
		s.half = append(s.half, group%2)
	}
	return s, nil
}

// A method finds pairs of at least a similarity. Of fingerprints of so many bits that is the
// share of equal bits.
type method struct {
	name           string
	fixed, loosest float64
	bits           int
	find           func(s *set, least float64) []neardup.Pair[int]
}

func (m method) show(least float64) string {
	switch {
	case m.bits > 0:
		return "H ≤ " + strconv.Itoa(m.distance(least))
	case m.fixed > 0:
		return "default"
	}
	return fmt.Sprintf("%.3f", least)
}

func (m method) distance(least float64) int { return int(math.Round((1 - least) * float64(m.bits))) }
