// Command versus measures the library side by side with its peers, on the same data in one run:
//
//	go run -C versus . [-rounds 7] [-only NAME] [-data DIR] [-python PROGRAM]
//
// In every round each contestant of a row works for a fifth of a second, in turn, so what slows the
// machine down slows all of them. A row has the median time of one piece of work, and the ratio of
// the peer's time to ours: its median over the rounds, and its range. A ratio of 3 means that the
// library is three times as fast; rows in which a peer wins are printed like the others. All use one
// thread.
//
// The texts are those of the repository, or with -data (or $NEARDUP_DATA) those of
// throughput/en.txt.gz and zh.txt.gz.
//
// The files:
//
//	main.go      flags, rounds, and the table
//	texts.go     the texts
//	go.go        the rows with peers in Go
//	python.go    the rows with scikit-learn, where Python has it
//	process.go   the other process, which does the work of Python
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// A row is a piece of work, and who does it.
type row struct {
	name  string
	unit  string       // what one is, such as a text
	ours  contestant   // the library
	peers []contestant // the others
	note  string       // what to know about the comparison
}

// A contestant does the work n times.
type contestant struct {
	name string
	work func(n int)
}

func main() {
	log.SetFlags(0)
	rounds := flag.Int("rounds", 7, "number of rounds, at least 5")
	only := flag.String("only", "", "only the rows whose names have this in them")
	interpreter := flag.String("python", "python3", "the `PROGRAM` that runs scikit-learn")
	dir := flag.String("data", os.Getenv("NEARDUP_DATA"), "`DIR` with throughput/en.txt.gz and zh.txt.gz; the default is $NEARDUP_DATA, or else the texts in the repository")
	flag.Parse()
	if flag.NArg() > 0 || *rounds < 5 {
		flag.Usage()
		os.Exit(2)
	}
	runtime.GOMAXPROCS(1)
	t, err := readTexts(*dir)
	if err != nil {
		log.Fatal("versus: ", err)
	}
	fmt.Printf("%s, %s/%s, one thread, %d rounds; %s.\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, *rounds, versions())
	fmt.Println("| work | one is | the library | peer | | peer ÷ ours, median (range) |")
	fmt.Println("|---|---|---|---|---|---|")
	var notes []string
	for _, make := range rows {
		r := make(t)
		if !strings.Contains(r.name, *only) {
			continue
		}
		log.Print(r.name)
		measure(r, *rounds)
		if r.note != "" {
			notes = append(notes, fmt.Sprintf("- %s: %s", r.name, r.note))
		}
	}
	if err := python(*interpreter, t, *rounds, *only); err != nil {
		log.Fatal("versus: ", err)
	}
	fmt.Println()
	for _, n := range notes {
		fmt.Println(n)
	}
}

// measure measures a row and prints it, with a line for each peer.
func measure(r row, rounds int) {
	all := append([]contestant{r.ours}, r.peers...)
	times := make([][]float64, len(all)) // nanoseconds of one piece, by contestant and round
	repeat := make([]int, len(all))
	for i, c := range all {
		repeat[i] = calibrate(c)
	}
	for round := range rounds {
		for turn := range all {
			i := (turn + round) % len(all)
			runtime.GC()
			start := time.Now()
			all[i].work(repeat[i])
			times[i] = append(times[i], float64(time.Since(start).Nanoseconds())/float64(repeat[i]))
		}
	}
	for i, peer := range r.peers {
		var ratios []float64
		for round, ns := range times[i+1] {
			ratios = append(ratios, ns/times[0][round])
		}
		print(r, peer.name, median(times[0]), median(times[i+1]), ratios)
	}
}

// print prints a line of the table. Times are in nanoseconds.
func print(r row, peer string, ours, theirs float64, ratios []float64) {
	slices.Sort(ratios)
	win := ""
	if median(ratios) < 1 {
		win = " **peer wins**"
	}
	fmt.Printf("| %s | %s | %s | %s | %s | %s (%s to %s)%s |\n", r.name, r.unit, duration(ours), peer, duration(theirs), digits(median(ratios)), digits(ratios[0]), digits(ratios[len(ratios)-1]), win)
}

// calibrate returns how often a contestant works in a fifth of a second, at least once.
func calibrate(c contestant) int {
	for n := 1; ; n *= 2 {
		start := time.Now()
		c.work(n)
		if took := time.Since(start); took > 50*time.Millisecond || n > 1<<28 {
			return max(1, int(float64(n)*0.2/took.Seconds()))
		}
	}
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// duration returns nanoseconds in a unit that suits them.
func duration(ns float64) string {
	switch {
	case ns < 1e3:
		return digits(ns) + " ns"
	case ns < 1e6:
		return digits(ns/1e3) + " µs"
	case ns < 1e9:
		return digits(ns/1e6) + " ms"
	}
	return digits(ns/1e9) + " s"
}

// digits returns a number with two or three digits, or in full from 100 on.
func digits(x float64) string {
	if x < 10 {
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}

// versions names the peers and their versions.
func versions() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "peers of unknown versions"
	}
	var all []string
	for _, name := range []string{"github.com/ekzhu/minhash-lsh", "github.com/go-ego/gse", "github.com/mfonda/simhash"} {
		for _, m := range info.Deps {
			if m.Path == name {
				all = append(all, name+" "+m.Version)
			}
		}
	}
	return strings.Join(all, ", ")
}
