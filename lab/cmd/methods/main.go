// Command methods compares the methods of neardup on collections whose near-duplicates are known:
//
//	go run -C lab ./cmd/methods -data DIR [-sets zh-revisions,en-versions] [-only REGEXP]
//
// For each method it prints precision, recall and F1 of the pairs, the time, and the peak memory of
// the process.
//
// Most methods need a distance or a similarity. It is chosen as the best one on half of the groups
// of documents; precision, recall and F1 are measured on the other half. The last column has them
// on all documents. The method auto, and those with a number in their names, need no setting.
//
// Every method runs in a process of its own, which first reads the texts. The time is the time from
// the texts to the pairs.
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
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/lab/dataset"
	"github.com/neardup/neardup/lab/peak"
)

func main() {
	data := flag.String("data", os.Getenv("NEARDUP_DATA"), "`DIR` with a directory for each set, which has docs.jsonl.gz and truth.tsv; the default is $NEARDUP_DATA")
	sets := flag.String("sets", "zh-revisions,en-versions", "comma-separated names of sets; sets whose documents have fields are compared as records")
	only := flag.String("only", "", "a `REGEXP`: only the methods whose names it matches")
	child := flag.String("method", "", "run only this method and print its result as JSON; the command calls itself in this way")
	least := flag.Float64("least", 0, "with -method, the smallest similarity; 0 chooses the best one")
	flag.Parse()
	names, err := regexp.Compile(*only)
	switch {
	case err != nil:
	case *data == "":
		err = fmt.Errorf("give -data or set NEARDUP_DATA")
	case *child != "":
		err = runOne(filepath.Join(*data, *sets), *child, *least)
	default:
		err = compareAll(*data, strings.Split(*sets, ","), names)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "methods:", err)
		os.Exit(1)
	}
}

// An outcome is the result of the process of one method.
type outcome struct {
	Least  float64 // the similarity that was chosen
	Half   counts  // on the half that was not used to choose
	All    counts  // on all documents
	Millis int64   // time from the texts to the pairs
}

// counts are numbers of pairs: Found by the method, Right among the pairs found, and in the Truth.
type counts struct{ Found, Right, Truth int }

func (c counts) f1() float64 { return 2 * float64(c.Right) / float64(c.Found+c.Truth) }

func (c counts) String() string {
	return fmt.Sprintf("%.4f %.4f %.4f", float64(c.Right)/float64(max(c.Found, 1)), float64(c.Right)/float64(max(c.Truth, 1)), c.f1())
}

// compareAll runs the methods with some names on all sets, each in a process of its own, and prints a table for
// each set.
func compareAll(data string, sets []string, names *regexp.Regexp) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	call := func(set, method string, least float64) (o outcome, memory int64, err error) {
		cmd := exec.Command(self, "-data", data, "-sets", set, "-method", method, "-least", fmt.Sprint(least))
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return o, 0, fmt.Errorf("%s, %s: %w", set, method, err)
		}
		return o, peak.Of(cmd.ProcessState), json.Unmarshal(out, &o)
	}
	for _, set := range sets {
		s, err := load(filepath.Join(data, set))
		if err != nil {
			return err
		}
		fmt.Printf("%s: %d documents, %d pairs\n%-52s %9s  %-20s %6s %7s  %s\n", set, len(s.docs), len(s.truth), "method", "setting", "P, R, F1 other half", "time", "memory", "P, R, F1 all")
		for _, m := range methodsOf(s) {
			if !names.MatchString(m.name) {
				continue
			}
			least := m.fixed
			if least == 0 {
				chosen, _, err := call(set, m.name, 0)
				if err != nil {
					return err
				}
				least = chosen.Least
			}
			o, memory, err := call(set, m.name, least)
			if err != nil {
				return err
			}
			fmt.Printf("%-52s %9s  %s %5.2f s %4d MB  %s\n", m.name, m.show(least), o.Half, float64(o.Millis)/1000, memory>>20, o.All)
		}
		fmt.Println()
	}
	return nil
}

// runOne runs a method on a set and prints its outcome. If least is 0, it only chooses the
// similarity.
func runOne(path, name string, least float64) error {
	s, err := load(path)
	if err != nil {
		return err
	}
	all := methodsOf(s)
	i := slices.IndexFunc(all, func(m method) bool { return m.name == name })
	if i < 0 {
		return fmt.Errorf("there is no method %q", name)
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

// count counts a pair that was found, if both documents are in a half (0 or 1), or in any case (2).
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
			if best, at = f, p.Similarity; i+1 < len(pairs) && m.bits == 0 { // any similarity down to the next pair does as well; take the middle
				at = (p.Similarity + pairs[i+1].Similarity) / 2
			}
		}
	}
	return at
}

// A set is a collection of texts or records whose near-duplicates are known.
type set struct {
	docs   []dataset.Document
	fields []string // the names of the fields, if the documents are records
	truth  dataset.Truth
	half   []int // of each document: 0 to choose settings, 1 to measure
}

// load reads a set.
func load(path string) (s *set, err error) {
	s = &set{}
	if s.docs, err = dataset.Read(filepath.Join(path, "docs.jsonl.gz")); err != nil {
		return nil, err
	}
	texts := 0
	for _, d := range s.docs {
		if d.Text != "" {
			texts++
		}
	}
	for i := 0; i < len(s.docs) && 2*texts < len(s.docs); i++ { // most have fields alone
		for name := range s.docs[i].Fields {
			if !slices.Contains(s.fields, name) {
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

// A method finds pairs with at least a given similarity. For fingerprints with the given bits, the
// similarity is the fraction of equal bits.
type method struct {
	name           string
	fixed, loosest float64
	bits           int
	find           func(s *set, least float64) []neardup.Pair[int]
}

// show returns the setting for a similarity, as the table has it.
func (m method) show(least float64) string {
	switch {
	case m.bits > 0:
		return "H ≤ " + strconv.Itoa(m.distance(least))
	case m.fixed == anySimilarity:
		return "default"
	}
	return fmt.Sprintf("%.3f", least)
}

// distance returns the largest distance of fingerprints with at least the similarity.
func (m method) distance(least float64) int { return int(math.Round((1 - least) * float64(m.bits))) }
