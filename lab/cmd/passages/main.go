// Command passages measures what package passages finds, and what it costs:
//
//	go run -C lab ./cmd/passages -data DIR [-megabytes 100,1000]
//
// It makes collections of documents of about 1 KB from real sentences, in which each twentieth word is another one, and puts
// passages of other documents into some of them (generate.go). For the first collection it compares all passages with a sorted list of all suffixes
// (reference.go), and counts which of the planted ones were found. On each collection it runs the program neardup, in a process of its own.
// With -search it looks up new documents in the first one (search.go).
// With -sets it compares pairs of documents with those of package dedup (sets.go).
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

	"github.com/neardup/neardup/lab/peak"
	"github.com/neardup/neardup/lab/program"
)

// options are the flags.
type options struct {
	data, sizes, flags, keep string
	sets, leaks              string
	reference, search        bool
	items, documents         int
}

func main() {
	var o options
	flag.StringVar(&o.data, "data", os.Getenv("NEARDUP_DATA"), "`DIR` with throughput/en.txt.gz; the default is $NEARDUP_DATA")
	flag.StringVar(&o.sizes, "megabytes", "100", "comma-separated `NUMBERS` of megabytes")
	flag.StringVar(&o.flags, "flags", "--memory 4G", "more `FLAGS` for neardup passages, separated by spaces")
	flag.StringVar(&o.keep, "keep", "", "a `DIR` that keeps the collections, and from which they are taken if they are there")
	flag.StringVar(&o.sets, "sets", "", "only compare with package dedup on these comma-separated `NAMES` of collections in the data")
	flag.BoolVar(&o.reference, "reference", true, "compare the first collection with a reference, which takes 30 bytes of memory for each byte of text")
	flag.IntVar(&o.items, "items", 0, "`N` items of a test to look for in as many documents as -documents says")
	flag.StringVar(&o.leaks, "leak-flags", "", "more `FLAGS` for neardup decontaminate, separated by spaces")
	flag.IntVar(&o.documents, "documents", 1_000_000, "`N` documents in which they are looked for")
	flag.BoolVar(&o.search, "search", false, "look up new documents in the first collection")
	flag.Parse()
	if err := o.run(); err != nil {
		fmt.Fprintln(os.Stderr, "passages:", err)
		os.Exit(1)
	}
}

// run measures all collections.
func (o *options) run() error {
	if o.data == "" {
		return fmt.Errorf("give -data or set NEARDUP_DATA")
	}
	if o.sets != "" {
		return sets(o.data, o.sets)
	}
	work, err := os.MkdirTemp("", "passages")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	neardup := filepath.Join(work, "neardup")
	if err := program.Build("cmd/neardup", neardup); err != nil {
		return err
	}
	if o.keep == "" {
		o.keep = work
	}
	for i, text := range strings.Split(o.sizes, ",") {
		megabytes, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("-megabytes %q: %w", text, err)
		}
		c, err := collectionOf(o.data, megabytes, o.keep)
		if err == nil && i == 0 {
			err = o.first(c, neardup, work)
		}
		if err == nil {
			err = o.measure(neardup, c.path, megabytes)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// first does what the flags say with the first collection.
func (o *options) first(c *collection, program, work string) error {
	if o.search {
		if err := c.search(4 << 30); err != nil {
			return err
		}
	}
	if o.items > 0 {
		if err := c.leaks(program, work, o.documents, o.items, strings.Fields(o.leaks)); err != nil {
			return err
		}
	}
	if o.reference {
		return c.check()
	}
	return nil
}

// measure runs the program on a collection.
func (o *options) measure(program, path string, megabytes int) error {
	m := exec.Command(program, append([]string{"passages", path}, strings.Fields(o.flags)...)...)
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
	return nil
}
