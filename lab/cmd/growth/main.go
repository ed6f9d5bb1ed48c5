// Command growth measures how the cost of finding near-duplicates grows with the collection:
//
//	go run -C lab ./cmd/growth -data DIR [-documents 10000,100000,1000000] [-methods auto,minhash]
//
// It makes collections of documents of about 1 KB from real sentences (generate.go), in which a tenth
// are edited copies of others, runs the program dedup and others on them (programs.go), and prints for
// each method the time, processor time, peak memory, and the precision and recall of the planted pairs.
// A program is built and runs in a process of its own, so its time is from the file to the pairs.
package main

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/neardup/neardup/lab/program"
)

func main() {
	data := flag.String("data", os.Getenv("NEARDUP_DATA"), "`DIR` with throughput/en.txt.gz and zh.txt.gz; the default is $NEARDUP_DATA")
	documents := flag.String("documents", "10000,100000", "comma-separated `NUMBERS` of documents")
	language := flag.String("language", "en", "en or zh")
	methods := flag.String("methods", "auto,minhash,simhash", "comma-separated `NAMES` of methods of dedup")
	flags := flag.String("flags", "", "more `FLAGS` for dedup, separated by spaces")
	keep := flag.String("keep", "", "a `DIR` that keeps the collections, and from which they are taken if they are there")
	shuffled := flag.Bool("shuffled", false, "put the words of each document into an order of its own, so that no two have sentences in common")
	alone := flag.Bool("serial", false, "say which processor time is serial, by stage (serial.go)")
	flag.Parse()
	if err := run(*data, *documents, *language, *methods, *flags, *keep, *shuffled, *alone); err != nil {
		fmt.Fprintln(os.Stderr, "growth:", err)
		os.Exit(1)
	}
}

// run measures all methods on all collections.
func run(data, documents, language, methods, flags, keep string, shuffled, alone bool) error {
	if data == "" {
		return fmt.Errorf("give -data or set NEARDUP_DATA")
	}
	work, err := os.MkdirTemp("", "growth")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if keep != "" {
		if err := os.MkdirAll(keep, 0o777); err != nil {
			return err
		}
	}
	dedup := filepath.Join(work, "dedup")
	if err := program.Build("cmd/neardup", dedup); err != nil {
		return err
	}
	fmt.Printf("%-10s %-10s %9s %9s %9s %10s %10s %8s %9s\n", "documents", "MB", "method", "seconds", "CPU s", "peak MB", "precision", "recall", "pairs")
	for text := range strings.SplitSeq(documents, ",") {
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("-documents %q: %w", text, err)
		}
		c, err := collectionOf(data, language, n, shuffled, cmp.Or(keep, work))
		if err != nil {
			return err
		}
		for method := range strings.SplitSeq(methods, ",") {
			out := filepath.Join(work, "pairs")
			args := append([]string{"dedup", "--method", method, "--pairs", out}, strings.Fields(flags)...)
			m, err := measure(dedup, append(args, c.path)...)
			if err != nil {
				return err
			}
			found, right, err := c.score(out)
			if err != nil {
				return err
			}
			fmt.Printf("%-10d %-10.0f %9s %9.1f %9.1f %10.0f %10.4f %8.4f %9d\n", n, c.megabytes, method, m.wall.Seconds(), m.cpu.Seconds(), m.peak, float64(right)/float64(max(found, 1)), float64(right)/float64(c.planted), found)
			for _, line := range m.says {
				fmt.Println("    " + line)
			}
			if alone {
				if err := serial(dedup, work, n, append(args, c.path)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// A measurement is what a process cost.
type measurement struct {
	wall, cpu time.Duration
	peak      float64  // MB
	says      []string // lines of its summary about what is expected of the pairs
}

// saidBy returns the lines of a summary that say what is expected of the pairs.
func saidBy(summary []byte) (lines []string) {
	for line := range bytes.Lines(summary) {
		if text := strings.TrimSpace(string(line)); strings.HasSuffix(text, "by their probabilities") {
			lines = append(lines, text)
		}
	}
	return lines
}
