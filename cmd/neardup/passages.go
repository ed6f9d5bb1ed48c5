package main

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/cmd/neardup/inside"
	"github.com/neardup/neardup/passages"
)

// This file has the commands passages and decontaminate. Package passages finds what texts share, and package inside reads and writes.

// lengthFlags say how long a passage is.
type lengthFlags struct {
	Words      int `group:"method" placeholder:"N" help:"Minimum length of a passage in words. The default is 50, or 13 for decontaminate, or 5/8 of --characters if that is given."`
	Characters int `group:"method" placeholder:"N" help:"Minimum length of a passage in characters, for Chinese and other scripts without spaces between words. The default is 8/5 of --words. In mixed text, each word counts as 1/N of a passage, with the N of --words, and each character with the N of --characters."`
}

// length returns the length, with the default number of words.
func (f *lengthFlags) length(words int) (passages.Length, error) {
	l := passages.Length{Words: f.Words, Characters: f.Characters}
	if l == (passages.Length{}) {
		l.Words = words
	}
	return l.WithDefaults()
}

type passagesCommand struct {
	inputFlags
	Text string `group:"input" default:"text" placeholder:"NAMES" help:"Field or column with the text, or several, separated by commas."`
	unitFlags
	Against   string `group:"old" placeholder:"PATH" help:"A file or directory with an old collection, which counts as earlier. Passages that new documents share with it or with each other are found; passages that only old documents share are not."`
	Passages  string `group:"output" placeholder:"FILE" help:"The passages, as .csv, .jsonl, or tab-separated without a header. Each row is one place: the number of the passage, its length in words or characters, the number of documents and places it occurs in, the id, file and line of the document, and the byte range in its text. The row of the first place also has the text of the passage."`
	Coverage  string `group:"output" placeholder:"FILE" help:"How much of each document occurs in others, as .csv, .jsonl, or tab-separated without a header. Each row is one source of a document: how much of the document it contains, how much of that no earlier source contains, and how much of the source is in the document."`
	Report    string `group:"output" placeholder:"FILE.html" help:"An HTML page with the passages whose repeats take up the most text, and where they occur."`
	Out       string `group:"output" placeholder:"FILE" help:"The collection without text that already occurs in an earlier place. The file name determines the format, as for the command dedup."`
	Audit     string `group:"output" placeholder:"FILE" help:"With --out, what was cut: its place, its text, and an earlier place where it occurs; as .csv or .jsonl."`
	Cut       string `group:"method" default:"sentences" placeholder:"NAME" help:"With --out, what to cut: exactly the words of passages (words), only sentences that lie completely in passages (sentences), or only lines and paragraphs that do (paragraphs)."`
	Documents int    `group:"method" default:"1" placeholder:"N" help:"Count only passages that occur in at least N documents: with 100, say, the printed lines of forms and templates. This does not affect --coverage."`
	Mask      string `group:"method" placeholder:"TEXT" help:"With --out, the text that replaces what is cut, such as '[…]'."`
	Least     int    `group:"method" default:"1" placeholder:"N" help:"With --out, drop a document that was cut if it has fewer than N words or characters left, unless it holds the first copy of something that is cut elsewhere."`
	lengthFlags
	runFlags
	Quiet bool `group:"output" short:"q" help:"Print errors only."`
}

// cuttings has what --cut can name.
var cuttings = map[string]passages.CutOptions{"words": {}, "sentences": {Sentences: true}, "paragraphs": {Paragraphs: true}}

// Run finds the passages.
func (c *passagesCommand) Run(of *call) error {
	if input.FormatOf(c.Against, "") == input.Fingerprints {
		return usageError{fmt.Errorf("--against %q: saved fingerprints do not contain the texts", c.Against)}
	}
	f := flags{inputFlags: c.inputFlags, textFlags: textFlags{Text: c.Text}, methodFlags: defaults[methodFlags](), groupFlags: groupFlags{thresholdFlags: defaults[thresholdFlags]()}, runFlags: c.runFlags, unit: c.Unit,
		oldFlags: oldFlags{Against: c.Against}, outputFlags: outputFlags{decisionFlags: decisionFlags{Out: c.Out, Audit: c.Audit, Quiet: c.Quiet}, Report: c.Report}}
	o, err := f.options(of.given)
	if err != nil {
		return usageError{err}
	}
	if err := c.checkCut(of.given); err != nil {
		return usageError{err}
	}
	length, err := c.length(50)
	if err != nil {
		return usageError{err}
	}
	o.Passages, o.Coverage = c.Passages, c.Coverage
	if wrong := o.CheckPaths(); wrong != "" {
		return usageError{fmt.Errorf("%s", wrong)}
	}
	cutting := cuttings[c.Cut]
	cutting.MinDocuments = c.Documents
	p := &inside.Passages{Length: length, Cut: cutting, Mask: c.Mask, Least: c.Least}
	return inside.FindPassages(o, p, of.outs, of.stdin, of.stdout, of.stderr)
}

// checkCut returns what is wrong with the flags that say what is cut out.
func (c *passagesCommand) checkCut(given map[string]string) error {
	for _, name := range []string{"audit", "cut", "least", "mask"} {
		if _, ok := given[name]; ok && c.Out == "" {
			return fmt.Errorf("--%s can only be used with --out", name)
		}
	}
	_, isCutting := cuttings[c.Cut]
	switch {
	case !isCutting:
		return fmt.Errorf("--cut %q: must be words, sentences or paragraphs", c.Cut)
	case c.Least < 0:
		return fmt.Errorf("--least %d: must be 0 or more", c.Least)
	case c.Out != "" && c.Unit != "":
		return errors.New("--unit and --out cannot be used together")
	case c.Out != "" && strings.Contains(c.Text, ","):
		return fmt.Errorf("--out with --text %q: only the text of one field can be cut", c.Text)
	case strings.ContainsFunc(c.Mask, unicode.IsControl) || !utf8.ValidString(c.Mask):
		return fmt.Errorf("--mask %q: must be UTF-8 without line ends or other control characters", c.Mask)
	}
	return nil
}

type decontaminateCommand struct {
	Tests string `arg:"" help:"The tests: a file, a directory or a pattern, in any input format."`
	inputFlags
	Text       string  `group:"input" default:"text" placeholder:"NAMES" help:"Field or column with the text of a document, or several, separated by commas."`
	TestFormat string  `group:"input" placeholder:"NAME" help:"Format of the tests, like --format for the inputs."`
	TestID     string  `group:"input" name:"test-id" default:"id" placeholder:"NAME" help:"Field or column of the tests with the id; an item without one is identified by its file and line."`
	Parts      string  `group:"input" default:"question,answer,text" placeholder:"NAMES" help:"Fields or columns of the tests to search for, each separately. An item must have at least one of them. For lines and .txt files, it is the text."`
	Leaks      string  `group:"output" placeholder:"FILE" help:"What was found, as .csv, .jsonl, or tab-separated without a header. Each row is one part of an item in one document, with the share of the part that the document contains, and the place of the longest run."`
	Items      string  `group:"output" placeholder:"FILE" help:"One row for each part of each item: the number of documents it occurs in, and the largest share of it in one document; as .csv, .jsonl, or tab-separated without a header."`
	Out        string  `group:"output" placeholder:"FILE" help:"The documents without those in which something was found. The file name determines the format, as for the command dedup."`
	Share      float64 `group:"method" default:"0" placeholder:"X" help:"The smallest share of a part that a document must contain, from 0 (any run that is long enough) to 1 (all of it)."`
	lengthFlags
	runFlags
	Quiet bool `group:"output" short:"q" help:"Print errors only."`
}

// Run looks for the tests.
func (c *decontaminateCommand) Run(of *call) error {
	f := flags{inputFlags: c.inputFlags, textFlags: textFlags{Text: c.Text}, methodFlags: defaults[methodFlags](), groupFlags: groupFlags{thresholdFlags: defaults[thresholdFlags]()}, runFlags: c.runFlags,
		outputFlags: outputFlags{decisionFlags: decisionFlags{Out: c.Out, Quiet: c.Quiet}}}
	o, err := f.options(of.given)
	if err != nil {
		return usageError{err}
	}
	if !(c.Share >= 0 && c.Share <= 1) {
		return usageError{fmt.Errorf("--share %v: must be from 0 to 1", c.Share)}
	}
	length, err := c.length(13)
	if err != nil {
		return usageError{err}
	}
	o.Leaks, o.Items = c.Leaks, c.Items
	if wrong := o.CheckPaths(); wrong != "" {
		return usageError{fmt.Errorf("%s", wrong)}
	}
	p := &inside.Leaks{Tests: c.Tests, Format: c.TestFormat, ID: c.TestID, Length: length, Share: c.Share}
	for name := range strings.SplitSeq(c.Parts, ",") {
		p.Parts = append(p.Parts, strings.TrimSpace(name))
	}
	return inside.FindLeaks(o, p, of.outs, of.stdin, of.stdout, of.stderr)
}
