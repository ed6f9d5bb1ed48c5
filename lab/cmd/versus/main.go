// Command versus measures the library side by side with its peers, on the same data in one run:
//
//	go run -C lab ./cmd/versus [-rounds 7] [-only NAME] [-data DIR] [-python PROGRAM] [-semblance DIR] [-rensa DIR]
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
// Two peers are no dependencies of this module: github.com/ophymx/semblance, since the Go module proxy
// does not have it, and github.com/beowolx/rensa, which is in Rust and needs rustc. They take part if
// -semblance and -rensa (or $NEARDUP_SEMBLANCE and $NEARDUP_RENSA) name folders with clones of them.
// Otherwise a line says that they are left out. Relative folders are relative to lab.
//
// The files:
//
//	main.go      flags, rounds, and the table
//	texts.go     the texts
//	go.go        the rows, with peers in Go
//	clones.go    the peers that are built from clones
//	drivers      the programs that are built against the clones
//	python.go    the rows with scikit-learn, where Python has it
//	process.go   the other processes, which do the work of Python and of the clones
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
	task  task         // the work for peers that are built from a clone
}

// A contestant does the work n times, here or in another process.
type contestant struct {
	name string
	work func(n int)
	ask  func(n int) (time.Duration, error) // instead of work: another process does it, and says how long it took
}

// time returns how long a contestant works n times.
func (c contestant) time(n int) (time.Duration, error) {
	if c.ask != nil {
		took, err := c.ask(n)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", c.name, err)
		}
		return took, nil
	}
	start := time.Now()
	c.work(n)
	return time.Since(start), nil
}

// options has the flags.
type options struct {
	rounds      int
	only        string
	interpreter string
	data        string
	clones      map[string]*string // folders by the name of the peer
}

func main() {
	log.SetFlags(0)
	var o options
	flag.IntVar(&o.rounds, "rounds", 7, "number of rounds, at least 5")
	flag.StringVar(&o.only, "only", "", "only the rows whose names have this in them")
	flag.StringVar(&o.interpreter, "python", "python3", "the `PROGRAM` that runs scikit-learn")
	flag.StringVar(&o.data, "data", os.Getenv("NEARDUP_DATA"), "`DIR` with throughput/en.txt.gz and zh.txt.gz; the default is $NEARDUP_DATA, or else the texts in the repository")
	o.clones = map[string]*string{}
	for _, p := range clonedPeers {
		o.clones[p.name] = flag.String(p.name, os.Getenv(p.variable()), "`DIR` with a clone of "+p.url+"; the default is $"+p.variable()+", or else its rows are left out")
	}
	flag.Parse()
	if flag.NArg() > 0 || o.rounds < 5 {
		flag.Usage()
		os.Exit(2)
	}
	runtime.GOMAXPROCS(1)
	if err := run(o); err != nil {
		log.Fatal("versus: ", err)
	}
}

// run prints the table.
func run(o options) error {
	t, err := readTexts(o.data)
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "neardup-versus-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	all, words, err := buildClones(clonedPeers, o.clones, tmp)
	if err != nil {
		return err
	}
	fmt.Print(header(o.rounds, words))
	var notes, kinds []string
	for _, make := range rows {
		r := make(t)
		if !strings.Contains(r.name, o.only) {
			continue
		}
		log.Print(r.name)
		if err := measureWithClones(r, all, tmp, o.rounds); err != nil {
			return err
		}
		if r.note != "" {
			notes = append(notes, fmt.Sprintf("- %s: %s", r.name, r.note))
		}
		kinds = append(kinds, r.task.kind)
	}
	if err := python(o.interpreter, t, o.rounds, o.only); err != nil {
		return err
	}
	fmt.Println()
	for _, n := range append(notes, cloneNotes(all, kinds)...) {
		fmt.Println(n)
	}
	return nil
}

// header returns what is printed before the rows. The words say what became of the clones.
func header(rounds int, words []string) string {
	return fmt.Sprintf("%s, %s/%s, one thread, %d rounds; %s.\n\n%s\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, rounds, versions(), strings.Join(words, "\n")) +
		"| work | one is | the library | peer | | peer ÷ ours, median (range) |\n" +
		"|---|---|---|---|---|---|\n"
}

// measure measures a row and prints it, with a line for each peer.
func measure(r row, rounds int) error {
	all := append([]contestant{r.ours}, r.peers...)
	times := make([][]float64, len(all)) // nanoseconds of one piece, by contestant and round
	repeat := make([]int, len(all))
	for i, c := range all {
		var err error
		if repeat[i], err = calibrate(c); err != nil {
			return err
		}
	}
	for round := range rounds {
		for turn := range all {
			i := (turn + round) % len(all)
			runtime.GC()
			took, err := all[i].time(repeat[i])
			if err != nil {
				return err
			}
			times[i] = append(times[i], float64(took.Nanoseconds())/float64(repeat[i]))
		}
	}
	for i, peer := range r.peers {
		var ratios []float64
		for round, ns := range times[i+1] {
			ratios = append(ratios, ns/times[0][round])
		}
		print(r, peer.name, median(times[0]), median(times[i+1]), ratios)
	}
	return nil
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
func calibrate(c contestant) (int, error) {
	for n := 1; ; n *= 2 {
		took, err := c.time(n)
		if err != nil {
			return 0, err
		}
		if took > 50*time.Millisecond || n > 1<<28 {
			return max(1, int(float64(n)*0.2/took.Seconds())), nil
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
	if x < 1 {
		return fmt.Sprintf("%.2f", x)
	}
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
