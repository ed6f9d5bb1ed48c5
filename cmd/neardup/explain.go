package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/corpus"
	"github.com/neardup/neardup/cmd/neardup/group"
	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/cmd/neardup/options"
	"github.com/neardup/neardup/dedup"
)

// This file has the commands that look at two documents: explain, of a collection, and compare, of two files. It
// also has calibrate.

type explainCommand struct {
	A string `arg:"" help:"ID of one document."`
	B string `arg:"" help:"ID of the other document."`
	inputFlags
	textFlags
	groupFlags
	runFlags
	Features int `group:"output" default:"15" placeholder:"N" help:"How many features to show, both of those that the two documents share and of those that only one has."`
}

// Run explains why two documents of a collection are near-duplicates, or not.
func (c *explainCommand) Run(of *call) error {
	l, err := of.load(flags{inputFlags: c.inputFlags, textFlags: c.textFlags, groupFlags: c.groupFlags, methodFlags: defaults[methodFlags](), runFlags: c.runFlags})
	if err != nil {
		return err
	}
	numbers := l.Numbers()
	for _, id := range []string{c.A, c.B} {
		if _, ok := numbers[id]; !ok {
			return fmt.Errorf("no document has the id %q", id)
		}
	}
	e, err := l.Deduplicator().Explain(numbers[c.A], numbers[c.B])
	if err != nil {
		return err
	}
	return writeExplanation(of.stdout, e, c.Features, l.Options())
}

// writeExplanation writes why two documents are near-duplicates, or not.
func writeExplanation(out io.Writer, e dedup.Explanation, most int, o *options.Options) error {
	w := bufio.NewWriter(out)
	answer, needed := "not near-duplicates", fmt.Sprintf("a probability of %.2f", o.Method.Probability)
	if e.Duplicate {
		answer = "near-duplicates"
	}
	if o.Method.Least > 0 {
		needed = fmt.Sprintf("a similarity of %.2f", o.Method.Least)
	}
	fmt.Fprintf(w, "%s: the probability is %.4f and the similarity %.4f; the threshold is %s; the kind is %s\n", answer, e.Probability, e.Similarity, needed, e.Kind)
	switch {
	case !e.Compared:
		fmt.Fprintln(w, "in a collection they are not compared: their signatures have too little in common")
	case !e.Duplicate && e.Probability >= o.Method.Probability && o.Method.Least == 0:
		fmt.Fprintln(w, "pairs of this kind do not count; see --kinds")
	}
	quantities := slices.Clone(e.Evidence)
	slices.SortStableFunc(quantities, func(p, q dedup.Quantity) int { return cmp.Compare(math.Abs(q.Adds), math.Abs(p.Adds)) })
	fmt.Fprintf(w, "\nThe logarithm of the odds is the sum of\n%9.2f  baseline\n", e.Constant)
	for _, q := range quantities {
		if q.Adds != 0 {
			fmt.Fprintf(w, "%+9.2f  %s\n", q.Adds, q.Name)
		}
	}
	showFeatures(w, e, most, "Features that both have, and what they add to the similarity:", func(f dedup.ExplainedFeature) bool { return f.A > 0 && f.B > 0 })
	showFeatures(w, e, most, "Features that only one has:", func(f dedup.ExplainedFeature) bool { return f.A == 0 || f.B == 0 })
	return w.Flush()
}

// showFeatures writes up to most of the features for which in returns true, under a title.
func showFeatures(w io.Writer, e dedup.Explanation, most int, title string, in func(f dedup.ExplainedFeature) bool) {
	n, left := 0, 0
	for _, f := range e.Features {
		if !in(f) {
			continue
		}
		if n++; n == 1 {
			fmt.Fprintf(w, "\n%s\n%9s %8s %8s\n", title, "adds", "weight A", "weight B")
		}
		if n > most {
			left++
			continue
		}
		fmt.Fprintf(w, "%9.4f %8.3f %8.3f  %s\n", f.A*f.B, f.A, f.B, cli.Printable(f.Text, 60))
	}
	if left > 0 {
		fmt.Fprintf(w, "%9s and %d more\n", "", left)
	}
}

type compareCommand struct {
	A         string `arg:"" help:"The file with one text."`
	B         string `arg:"" help:"The file with the other text."`
	Encoding  string `placeholder:"NAME" help:"Encoding of the files; detected by default."`
	Normalize string `placeholder:"STEPS" help:"Clean the texts first, by steps separated by commas: ${steps}."`
}

// Run compares the texts of two files by every method.
func (c *compareCommand) Run(of *call) error {
	var f neardup.Fingerprinter
	for step := range strings.SplitSeq(c.Normalize, ",") {
		if err := options.SetStep(&f.Normalizer, strings.TrimSpace(step)); err != nil {
			return usageError{err}
		}
	}
	var texts [2]string
	for i, path := range []string{c.A, c.B} {
		s := input.Source{Path: path, Format: "txt"}
		if input.FormatOf(path, "") == "html" {
			s.Format = "html"
		}
		plain, finish, err := s.Open(nil, io.Discard)
		if err != nil {
			return err
		}
		defer finish()
		err = s.Read(0, plain, input.Columns{Encoding: c.Encoding}, 1<<30, func(it input.Item) bool {
			d, failed := it.Parse(&s, input.Columns{}, &input.Decoder{})
			texts[i], err = d.Text, failed
			return false
		})
		if err != nil {
			return err
		}
	}
	for i, text := range texts {
		if corpus.IsBlank(text) {
			_, err := fmt.Fprintf(of.stdout, "%s has no text, so there is nothing to compare\n", []string{c.A, c.B}[i])
			return err
		}
	}
	d, err := dedup.New[int](dedup.Options{Fingerprinter: f})
	if err != nil {
		return err
	}
	for i, text := range texts {
		if err := d.Add(i, neardup.Text(text)); err != nil {
			return err
		}
	}
	e, err := d.Explain(0, 1)
	if err != nil {
		return err
	}
	fmt.Fprintf(of.stdout, "kind        %s\n", e.Kind)
	fmt.Fprintf(of.stdout, "probability %.4f (that they are near-duplicates; in a collection, it also depends on similar documents)\n", e.Probability)
	fmt.Fprintf(of.stdout, "cosine      %.4f\n", e.Similarity)
	f.Tokenizer = neardup.Shingles{N: 2}
	fmt.Fprintf(of.stdout, "Jaccard     %s (of pairs of words)\n", share(f.Set(neardup.Text(texts[0])).Jaccard(f.Set(neardup.Text(texts[1])))))
	fmt.Fprintf(of.stdout, "fingerprint %d of 64 bits differ, %d of 128\n", f.Sum64(neardup.Text(texts[0])).Distance(f.Sum64(neardup.Text(texts[1]))), f.Sum128(neardup.Text(texts[0])).Distance(f.Sum128(neardup.Text(texts[1]))))
	return nil
}

// share shows a fraction, which may be of nothing.
func share(x float64) string {
	if math.IsNaN(x) {
		return "- (not enough data)"
	}
	return fmt.Sprintf("%.4f", x)
}

type calibrateCommand struct {
	Labels string `arg:"" help:"Labelled pairs, one per line: two ids and same or different, separated by tabs or commas, or a JSON object such as {\"a\": \"1\", \"b\": \"2\", \"same\": true}. The page that review writes saves such a file."`
	inputFlags
	textFlags
	groupFlags
	runFlags
	Precision float64 `group:"method" placeholder:"X" help:"Choose the lowest threshold with this expected precision, instead of 0.5."`
	MinRecall float64 `group:"method" placeholder:"X" help:"Choose the highest threshold with this expected recall, instead of 0.5."`
	Quiet     bool    `group:"output" short:"q" help:"Print errors and the result only."`
	Complete  bool    `group:"method" help:"The labels name all duplicates: other pairs that are compared are different."`
}

// Run moves the decision by labelled pairs.
func (c *calibrateCommand) Run(of *call) error {
	read, err := group.ReadLabels(c.Labels)
	if err != nil {
		return err
	}
	l, err := of.load(flags{inputFlags: c.inputFlags, textFlags: c.textFlags, groupFlags: c.groupFlags, methodFlags: defaults[methodFlags](), runFlags: c.runFlags, outputFlags: outputFlags{decisionFlags: decisionFlags{Quiet: c.Quiet}}})
	if err != nil {
		return err
	}
	numbers := l.Numbers()
	var labels []dedup.Label[int]
	for _, r := range read {
		if r.Keep != "" {
			continue
		}
		a, okA := numbers[r.A]
		b, okB := numbers[r.B]
		if !okA || !okB {
			id := r.A
			if okA {
				id = r.B
			}
			return fmt.Errorf("%s:%d: no document has the id %q", c.Labels, r.Line, id)
		}
		labels = append(labels, dedup.Label[int]{A: a, B: b, Duplicate: r.Same})
	}
	cal, err := l.Deduplicator().Calibrate(context.Background(), labels, dedup.Target{Precision: c.Precision, Recall: c.MinRecall, Complete: c.Complete})
	if err != nil {
		return err
	}
	w := bufio.NewWriter(of.stdout)
	fmt.Fprintf(w, "--probability %.2f --bias=%.2f\n", cal.Options.Probability, cal.Options.Bias)
	fmt.Fprintf(w, "from %d of %d labels; the others are for pairs that are not compared\n", cal.Used, len(labels))
	fmt.Fprintf(w, "expected: precision %s, recall %s, F1 %s, with %s found\n", share(cal.Point.Precision), share(cal.Point.Recall), share(cal.Point.F1), cli.Count(cal.Point.Found, "pair", "pairs"))
	if len(cal.Ask) > 0 {
		fmt.Fprintln(w, "pairs to label next:")
	}
	for _, p := range cal.Ask {
		fmt.Fprintf(w, "%s\t%s\t%.4f\t%s\t%.4f\n", cli.Escape(l.Doc(p.A).ID), cli.Escape(l.Doc(p.B).ID), p.Similarity, p.Kind, p.Probability)
	}
	return w.Flush()
}
