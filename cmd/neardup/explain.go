package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/internal/cli"
)

// This file has the commands that look at two documents: explain, of a collection, and compare, of two files. It
// also has calibrate.

// A loaded is a collection in a Deduplicator.
type loaded struct {
	*collection
	o     *options
	d     *neardup.Deduplicator[int] // by the number of a document
	stdin io.Reader
}

// load reads the inputs of a call.
func (of *call) load(f flags) (*loaded, error) {
	o, err := f.options(of.given)
	if err != nil {
		return nil, usageError{err}
	}
	fp, err := o.fingerprinter()
	if err != nil {
		return nil, err
	}
	c := o.newCollection(of.stderr)
	if err := c.findInputs(o); err != nil {
		return nil, err
	}
	if err := c.keepCopies(of.stdin, false); err != nil { // texts are read again
		return nil, err
	}
	if err := c.load(o, fp, of.stdin); err != nil {
		return nil, err
	}
	return &loaded{c, o, c.exact.d, of.stdin}, nil
}

// textsOf reads the sources again and calls use with the texts of the documents for which in is true, in their
// order. use may return false to end it.
func (c *loaded) textsOf(in func(i int) bool, use func(i int, text string) bool) error {
	var x decoder
	err := c.again(c.o, c.stdin, c.cols, func(i int, s *source, it *item) error {
		if !in(i) {
			return nil
		}
		d, err := it.parse(s, c.cols, &x)
		if err == nil && !use(i, strings.Clone(d.whole())) {
			err = errEnough
		}
		return err
	}, func(*source) error { return nil })
	if err == errEnough {
		return nil
	}
	return err
}

// errEnough ends a reading.
var errEnough = errors.New("enough")

// numbers returns the numbers of the documents by id.
func (c *loaded) numbers() map[string]int {
	numbers := make(map[string]int, len(c.docs))
	for i := range c.docs {
		numbers[c.docs[i].id] = i
	}
	return numbers
}

type explainCommand struct {
	A string `arg:"" help:"Id of a document."`
	B string `arg:"" help:"Id of another one."`
	inputFlags
	textFlags
	groupFlags
	runFlags
	Features int `group:"output" default:"15" placeholder:"N" help:"How many of the features that both have are shown, and of those that one has."`
}

// Run explains why two documents of a collection are near-duplicates, or not.
func (c *explainCommand) Run(of *call) error {
	l, err := of.load(flags{inputFlags: c.inputFlags, textFlags: c.textFlags, groupFlags: c.groupFlags, methodFlags: usualMethod, runFlags: c.runFlags})
	if err != nil {
		return err
	}
	numbers, ids := l.numbers(), []string{c.A, c.B}
	var texts [2]string
	for _, id := range ids {
		if _, ok := numbers[id]; !ok {
			return fmt.Errorf("no document has the id %q", id)
		}
	}
	wanted := func(i int) bool { return i == numbers[c.A] || i == numbers[c.B] }
	err = l.textsOf(wanted, func(i int, text string) bool {
		for k, id := range ids {
			if i == numbers[id] {
				texts[k] = text
			}
		}
		return true
	})
	if err != nil {
		return err
	}
	// Explain takes the threshold of searches, which is that of all documents here.
	e, err := l.d.Explain(texts[0], texts[1])
	if err != nil {
		return err
	}
	return writeExplanation(of.stdout, e, c.Features, len(l.docs))
}

// writeExplanation writes why two documents are near-duplicates, or not.
func writeExplanation(out io.Writer, e neardup.Explanation, most, documents int) error {
	w := bufio.NewWriter(out)
	answer := "no near-duplicates"
	if e.Duplicate() {
		answer = "near-duplicates"
	}
	fmt.Fprintf(w, "%s: the similarity is %.4f, and %.2f is enough; they are of the kind %s\n", answer, e.Similarity, e.Least, e.Kind)
	if e.Similarity >= e.Least && !e.Duplicate() {
		fmt.Fprintf(w, "pairs of this kind do not count; the kinds that do are %s\n", e.Kinds)
	}
	show := func(title string, in func(f neardup.ExplainedFeature) bool) {
		n, left := 0, 0
		for _, f := range e.Features {
			if !in(f) {
				continue
			}
			if n++; n == 1 {
				fmt.Fprintf(w, "\n%s\n%9s %8s %8s %10s\n", title, "adds", "weight A", "weight B", "documents")
			}
			if n > most {
				left++
				continue
			}
			fmt.Fprintf(w, "%9.4f %8.3f %8.3f %10d  %s\n", f.A*f.B, f.A, f.B, f.Documents, cli.Printable(f.Text, 60))
		}
		if left > 0 {
			fmt.Fprintf(w, "%9s and %d more\n", "", left)
		}
	}
	show(fmt.Sprintf("Features that both have, with the number of documents (of %d) that have them:", documents), func(f neardup.ExplainedFeature) bool { return f.A > 0 && f.B > 0 })
	show("Features that only one has:", func(f neardup.ExplainedFeature) bool { return f.A == 0 || f.B == 0 })
	return w.Flush()
}

type compareCommand struct {
	A         string `arg:"" help:"A file with a text."`
	B         string `arg:"" help:"Another one."`
	Encoding  string `placeholder:"NAME" help:"Encoding of the files; by default it is found out."`
	Normalize string `placeholder:"STEPS" help:"Clean the texts first, by steps separated by commas: ${steps}."`
}

// Run compares the texts of two files by every method.
func (c *compareCommand) Run(of *call) error {
	var f neardup.Fingerprinter
	for step := range strings.SplitSeq(c.Normalize, ",") {
		if err := setStep(&f.Normalizer, strings.TrimSpace(step)); err != nil {
			return usageError{err}
		}
	}
	var texts [2]string
	for i, path := range []string{c.A, c.B} {
		s := source{path: path, format: "txt"}
		if formatOf(path, "") == "html" {
			s.format = "html"
		}
		plain, finish, err := s.open(nil, io.Discard)
		if err != nil {
			return err
		}
		defer finish()
		err = s.read(0, plain, columns{encoding: c.Encoding}, 1<<30, func(it item) bool {
			d, failed := it.parse(&s, columns{}, &decoder{})
			texts[i], err = d.text, failed
			return false
		})
		if err != nil {
			return err
		}
	}
	d, err := neardup.NewDeduplicator[int](neardup.DeduplicatorOptions{Fingerprinter: f})
	if err != nil {
		return err
	}
	e, err := d.Explain(texts[0], texts[1])
	if err != nil {
		return err
	}
	fmt.Fprintf(of.stdout, "kind        %s\n", e.Kind)
	fmt.Fprintf(of.stdout, "cosine      %.4f (of the Deduplicator; in a collection, what many documents have counts less)\n", e.Similarity)
	f.Tokenizer = neardup.Shingles{N: 2}
	fmt.Fprintf(of.stdout, "Jaccard     %s (of pairs of words)\n", share(f.Set(texts[0]).Jaccard(f.Set(texts[1]))))
	fmt.Fprintf(of.stdout, "fingerprint %d of 64 bits differ, %d of 128\n", f.Sum64(texts[0]).Distance(f.Sum64(texts[1])), f.Sum128(texts[0]).Distance(f.Sum128(texts[1])))
	return nil
}

// share shows a fraction, which may be of nothing.
func share(x float64) string {
	if math.IsNaN(x) {
		return "- (there is nothing to tell from)"
	}
	return fmt.Sprintf("%.4f", x)
}

type calibrateCommand struct {
	Labels string `arg:"" help:"Pairs that somebody has looked at, one in a line: two ids and same or different, with tabs or commas between, or a JSON object such as {\"a\": \"1\", \"b\": \"2\", \"same\": true}. The page that review makes saves such a file."`
	inputFlags
	textFlags
	groupFlags
	runFlags
	Precision float64 `group:"method" placeholder:"X" help:"Find the best recall at this precision, instead of the best F1."`
	MinRecall float64 `group:"method" placeholder:"X" help:"Find the best precision at this recall, instead of the best F1."`
	Quiet     bool    `group:"output" short:"q" help:"Print errors and the result only."`
	Complete  bool    `group:"method" help:"The labels name all duplicates: other pairs are different."`
}

// Run finds the threshold that fits labelled pairs.
func (c *calibrateCommand) Run(of *call) error {
	read, err := readLabels(c.Labels)
	if err != nil {
		return err
	}
	l, err := of.load(flags{inputFlags: c.inputFlags, textFlags: c.textFlags, groupFlags: c.groupFlags, methodFlags: usualMethod, runFlags: c.runFlags, outputFlags: outputFlags{Quiet: c.Quiet}})
	if err != nil {
		return err
	}
	numbers := l.numbers()
	var labels []neardup.Label[int]
	for _, r := range read {
		a, okA := numbers[r.a]
		b, okB := numbers[r.b]
		if !okA || !okB {
			id := r.a
			if okA {
				id = r.b
			}
			return fmt.Errorf("%s:%d: no document has the id %q", c.Labels, r.line, id)
		}
		labels = append(labels, neardup.Label[int]{A: a, B: b, Duplicate: r.same})
	}
	cal, err := l.d.Calibrate(context.Background(), labels, neardup.Goal{Precision: c.Precision, Recall: c.MinRecall, Complete: c.Complete})
	if err != nil {
		return err
	}
	w := bufio.NewWriter(of.stdout)
	fmt.Fprintf(w, "--similarity %.2f\n", cal.Point.Similarity)
	fmt.Fprintf(w, "without labels: %s\n", cal.Threshold)
	if len(labels) > 0 {
		fmt.Fprintf(w, "with %d labels: precision %s, recall %s, F1 %s on them\n", len(labels), share(cal.Point.Precision), share(cal.Point.Recall), share(cal.Point.F1))
	}
	if len(cal.Ask) > 0 {
		fmt.Fprintln(w, "pairs that are worth looking at next:")
	}
	for _, p := range cal.Ask {
		fmt.Fprintf(w, "%s\t%s\t%.4f\t%s\n", cli.Escape(l.docs[p.A].id), cli.Escape(l.docs[p.B].id), p.Similarity, p.Kind)
	}
	return w.Flush()
}
