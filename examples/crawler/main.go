// Command crawler tells for each page whether a near-duplicate was seen before, also before it was last
// started: it keeps the pages in files. It reads pages from standard input as JSON lines with a url and a text.
// Pages that are older than half a year are forgotten.
//
//	go run -C examples ./crawler /tmp/pages <pages.jsonl
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/neardup/neardup"
	"io"
	"os"
	"time"

	"github.com/neardup/neardup/dedup"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: crawler FILE")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "crawler:", err)
		os.Exit(1)
	}
}

func run(path string, r io.Reader, w io.Writer) (err error) {
	// The error is other settings than before, damage, or another process that has the files open.
	d, err := dedup.Open[string](path, dedup.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if _, err := d.DeleteBefore(time.Now().AddDate(0, -6, 0)); err != nil {
		return err
	}
	pages := json.NewDecoder(r)
	for n := 1; ; n++ {
		var page struct{ URL, Text string }
		if err := pages.Decode(&page); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		found, err := d.SearchAndAdd(context.Background(), page.URL, neardup.Text(page.Text))
		if err != nil {
			return err
		}
		if len(found) == 0 {
			fmt.Fprintf(w, "%s is new\n", page.URL)
		} else {
			fmt.Fprintf(w, "%s is like %s: %s, probability %.2f\n", page.URL, found[0].ID, found[0].Kind, found[0].Probability)
		}
		if n%1000 == 0 { // after a crash, what follows is crawled again
			if err := d.Sync(); err != nil {
				return err
			}
		}
	}
}
