// Command crowds measures what collections cost in which all documents are alike: letters that thousands of people signed, pages of one template. Of each
// kind it takes more and more documents, and prints the processor time of adding, grouping (Groups and Families) and searching, and by which power of the
// number of documents the time grows. Near 1 is right; 2 would be each with each.
//
//	go run -C lab ./cmd/crowds -sizes 1000,4000,16000
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"iter"
	"math"
	"os"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup"
)

func main() {
	sizes := flag.String("sizes", "1000,2000,4000,8000", "comma-separated `NUMBERS` of documents")
	only := flag.String("kinds", "", "comma-separated `NAMES` of kinds; by default all")
	path := flag.String("profile", "", "a `FILE` for a profile of the processor time")
	flag.Parse()
	if *path != "" {
		f, err := os.Create(*path)
		if err == nil {
			err = pprof.StartCPUProfile(f)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "crowds:", err)
			os.Exit(1)
		}
		defer pprof.StopCPUProfile()
	}
	if err := run(*sizes, *only); err != nil {
		fmt.Fprintln(os.Stderr, "crowds:", err)
		os.Exit(1)
	}
}

func run(sizes, only string) error {
	var numbers []int
	for text := range strings.SplitSeq(sizes, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return fmt.Errorf("-sizes %s: not numbers", sizes)
		}
		numbers = append(numbers, n)
	}
	some := false
	fmt.Printf("%-10s %9s %8s %8s %8s %9s %9s %7s %8s %10s %10s\n", "kind", "documents", "add s", "group s", "power", "ms a doc", "search ms", "new ms", "groups", "in groups", "families")
	for _, k := range kinds {
		if only != "" && !slices.Contains(strings.Split(only, ","), k.name) {
			continue
		}
		some = true
		var before measured
		for _, n := range numbers {
			m, err := measure(k, n)
			if err != nil {
				return err
			}
			power := "-"
			if before.n > 0 {
				power = fmt.Sprintf("%.2f", math.Log(m.group/before.group)/math.Log(float64(n)/float64(before.n)))
			}
			fmt.Printf("%-10s %9d %8.2f %8.2f %8s %9.2f %9.1f %7.1f %8d %10d %10d\n", k.name, n, m.add, m.group, power, 1000*(m.add+m.group)/float64(n), 1000*m.search, 1000*m.addIfNew, m.groups, m.grouped, m.families)
			before = m
		}
	}
	if !some {
		return errors.New("no such kind")
	}
	return nil
}

// A measured is what a collection of n documents costs, in seconds of processor time.
type measured struct {
	n                            int
	add, group, search, addIfNew float64
	groups, grouped, families    int
}

func measure(k kind, n int) (m measured, err error) {
	ctx := context.Background()
	m.n = n
	d, err := dedup.New[int](dedup.Options{})
	if err != nil {
		return m, err
	}
	next := k.texts()
	var texts iter.Seq2[int, neardup.Document] = func(yield func(int, neardup.Document) bool) {
		for i := range n {
			if !yield(i, neardup.Text(next(i))) {
				return
			}
		}
	}
	begin := used()
	if err := d.AddAll(ctx, texts); err != nil {
		return m, err
	}
	m.add = used() - begin
	begin = used()
	groups, err := d.Groups(ctx, dedup.GroupOptions[int]{})
	if err != nil {
		return m, err
	}
	families, err := d.Families(ctx)
	if err != nil {
		return m, err
	}
	m.group, m.groups, m.families = used()-begin, len(groups), len(families)
	for _, g := range groups {
		m.grouped += len(g.Members)
	}
	const times = 10
	for i := range times {
		begin := time.Now()
		if _, err := d.SearchTop(ctx, neardup.Text(next(n+2*i)), 10); err != nil {
			return m, err
		}
		m.search += time.Since(begin).Seconds() / times
		begin = time.Now()
		if _, _, err := d.AddIfNew(ctx, n+i, neardup.Text(next(n+2*i+1)), 10); err != nil {
			return m, err
		}
		m.addIfNew += time.Since(begin).Seconds() / times
	}
	return m, nil
}

// used returns the processor time of the program so far, in seconds.
func used() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}
