// Command decision fits the three functions by which a Deduplicator tells near-duplicates from other
// pairs, and measures how far they can be trusted.
//
//	go run -C lab ./cmd/decision [-data DIR] [-evidence DIR] [-write FILE] [-figure FILE.svg]
//
// The collections are those of DIR with truth, some made from them in which copies are rare, and
// some with planted copies. Everything is deterministic. It takes some minutes, most of them for the
// fits in which something is left out.
//
//	collection.go   collections with truth, and those in which copies are rare
//	tables.go       sets that are compared by columns
//	plant.go        collections with planted copies
//	gather.go       the evidence about the pairs of a collection
//	logistic.go     logistic functions
//	recipe.go       what is fitted to what, with which weights
//	measure.go      F1, precision and recall of a function
//	wrong.go        how many of the found pairs are wrong
//	reliability.go  how often the probabilities are right, and a second step for them
//	labels.go       what some labels of the user's change
//	report.go       the tables
//	write.go        the Go file with the numbers
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"sync"
)

func main() {
	data := flag.String("data", os.Getenv("NEARDUP_DATA"), "`DIR` with a directory for each set; the default is $NEARDUP_DATA")
	kept := flag.String("evidence", "", "`DIR` in which the evidence is kept for the next run; empty it after a change of the library")
	out := flag.String("write", "", "Go `FILE` for the numbers")
	figure := flag.String("figure", "", "SVG `FILE` for a figure of the reliability")
	brief := flag.Bool("brief", false, "print the fit and its F1 alone, without what is left out")
	flag.Parse()
	if err := run(*data, *kept, *out, *figure, *brief); err != nil {
		fmt.Fprintln(os.Stderr, "decision:", err)
		os.Exit(1)
	}
}

// run fits, writes and reports.
func run(data, kept, out, figure string, brief bool) error {
	if data == "" {
		return fmt.Errorf("give -data or set NEARDUP_DATA")
	}
	lab, err := open(data, kept)
	if err != nil {
		return err
	}
	fitted := lab.fit()
	if out != "" {
		if err := write(out, fitted); err != nil {
			return err
		}
	}
	r := report{lab: lab, fitted: fitted, w: os.Stdout}
	if brief {
		r.brief()
		return nil
	}
	return r.all(figure)
}

// A laboratory has the evidence about all collections.
type laboratory struct {
	collections []*evidence
	byName      map[string]*evidence
}

// open reads the collections, and gathers the evidence about their pairs.
func open(data, kept string) (*laboratory, error) {
	all, err := collections(data)
	if err != nil {
		return nil, err
	}
	lab := &laboratory{byName: map[string]*evidence{}}
	for _, c := range all {
		e, err := gatherOnce(c, kept)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		lab.collections = append(lab.collections, e)
		lab.byName[c.name] = e
	}
	return lab, nil
}

// each calls do with 0 to n−1 on all processors.
func each(n int, do func(i int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}
