// Command passages measures what package passages finds, and what it costs:
//
//	go run -C experiments ./cmd/passages -data DIR [-megabytes 100,1000]
//
// It makes collections of documents of about 1 KB from real sentences, in which each twentieth word is another one, and puts
// passages of other documents into some of them (generate.go). For the first collection it compares all passages with a sorted list of all suffixes
// (reference.go), and counts which of the planted ones were found. On each collection it runs the program neardup, in a process of its own.
// With -search it looks up new documents in the first one (search.go).
// With -items it also plants items of a test in documents, and counts which of them are found (leaks.go).
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/neardup/neardup/experiments/peak"
)

func main() {
	data := flag.String("data", os.Getenv("NEARDUP_DATA"), "`DIR` with throughput/en.txt.gz; the default is $NEARDUP_DATA")
	sizes := flag.String("megabytes", "100", "comma-separated `NUMBERS` of megabytes")
	flags := flag.String("flags", "--memory 4G", "more `FLAGS` for neardup passages, separated by spaces")
	keep := flag.String("keep", "", "a `DIR` that keeps the collections, and from which they are taken if they are there")
	reference := flag.Bool("reference", true, "compare the first collection with a reference, which takes 30 bytes of memory for each byte of text")
	items := flag.Int("items", 0, "`N` items of a test to look for in as many documents as -documents says")
	documents := flag.Int("documents", 1_000_000, "`N` documents in which they are looked for")
	search := flag.Bool("search", false, "look up new documents in the first collection")
	flag.Parse()
	if err := run(*data, *sizes, *flags, *keep, *reference, *items, *documents, *search); err != nil {
		fmt.Fprintln(os.Stderr, "passages:", err)
		os.Exit(1)
	}
}

// run measures all collections.
func run(data, sizes, flags, keep string, reference bool, items, documents int, search bool) error {
	if data == "" {
		return fmt.Errorf("give -data or set NEARDUP_DATA")
	}
	work, err := os.MkdirTemp("", "passages")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	program := filepath.Join(work, "neardup")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = "../cmd/neardup" // go run -C experiments
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building neardup: %w\n%s", err, out)
	}
	if keep == "" {
		keep = work
	}
	for i, text := range strings.Split(sizes, ",") {
		megabytes, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("-megabytes %q: %w", text, err)
		}
		c, err := collectionOf(data, megabytes, keep)
		if err != nil {
			return err
		}
		if i == 0 && search {
			if err := c.search(4 << 30); err != nil {
				return err
			}
		}
		if i == 0 && items > 0 {
			if err := c.leaks(program, work, documents, items); err != nil {
				return err
			}
		}
		if i == 0 && reference {
			if err := c.check(); err != nil {
				return err
			}
		}
		m := exec.Command(program, append([]string{"passages", c.path}, strings.Fields(flags)...)...)
		m.Stderr = os.Stderr
		start := time.Now()
		said, err := m.Output()
		if err != nil {
			return err
		}
		cpu := m.ProcessState.UserTime() + m.ProcessState.SystemTime()
		fmt.Printf("%d MB: %.1f s, %.1f processor seconds, %d MB of memory\n", megabytes, time.Since(start).Seconds(), cpu.Seconds(), peak.Of(m.ProcessState)>>20)
		for line := range strings.Lines(string(said)) {
			fmt.Print("    ", line)
		}
	}
	return nil
}
