package main

import (
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
	Words      int `group:"method" placeholder:"N" help:"How many words a passage has at least; the default is 50, and for decontaminate 13, or 5/8 of the characters if these are given."`
	Characters int `group:"method" placeholder:"N" help:"How many characters it has at least, in Chinese and other scripts that put no spaces between words; the default is 8/5 of the words. In a text of both, a word counts as 1/N of a passage, by its N, and so does a character."`
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
	Text      string `group:"input" default:"text" placeholder:"NAMES" help:"Field or column with the text, or several, separated by commas."`
	Against   string `group:"old" placeholder:"PATH" help:"A file or directory with an old collection, which comes first: what new documents share with it, and with each other. What only old documents share is not looked for."`
	Passages  string `group:"output" placeholder:"FILE" help:"The passages: a row for each place, with the number of the passage, how many words or characters it has, in how many documents and places it stands, the id, file and line of the document, the bytes of its text, and in the row of the first place the text of the passage; as .csv or .jsonl, or with tabs between and no header."`
	Coverage  string `group:"output" placeholder:"FILE" help:"How much of each document stands in others: a row for each source, with how much of the document is in it, how much of that in no source before it, and how much of the source is in the document; as .csv or .jsonl, or with tabs between and no header."`
	Report    string `group:"output" placeholder:"FILE.html" help:"A page to look at: the passages of which the most would go if each stood only once, and where they stand."`
	Out       string `group:"output" placeholder:"FILE" help:"The collection without what stands in an earlier place too. The name says the format, as for the command dedup."`
	Audit     string `group:"output" placeholder:"FILE" help:"With --out, what was cut: where it stood, the text, and an earlier place of it; as .csv or .jsonl."`
	Cut       string `group:"method" default:"sentences" placeholder:"NAME" help:"With --out, what is cut: passages to the word (words), only the sentences of which all words are in passages (sentences), or only such lines and paragraphs (paragraphs)."`
	Documents int    `group:"method" default:"1" placeholder:"N" help:"Only passages that stand in at least N documents count: with 100, say, the printed lines of forms and templates. It makes no difference to --coverage."`
	Mask      string `group:"method" placeholder:"TEXT" help:"With --out, what is put in the place of what is cut, such as '[…]'."`
	Least     int    `group:"method" default:"1" placeholder:"N" help:"With --out, a document that was cut is dropped if fewer words or characters are left, and if nothing of it is the first place of what is cut elsewhere."`
	lengthFlags
	runFlags
	Quiet bool `group:"output" short:"q" help:"Print errors only."`
}

// cuttings has what --cut can name.
var cuttings = map[string]passages.CutOptions{"words": {}, "sentences": {Sentences: true}, "paragraphs": {Paragraphs: true}}

// Run finds the passages.
func (c *passagesCommand) Run(of *call) error {
	if input.FormatOf(c.Against, "") == input.Fingerprints {
		return usageError{fmt.Errorf("--against %q: fingerprints have no texts", c.Against)}
	}
	f := flags{inputFlags: c.inputFlags, textFlags: textFlags{Text: c.Text}, methodFlags: defaults[methodFlags](), groupFlags: groupFlags{borderFlags: defaults[borderFlags]()}, runFlags: c.runFlags,
		oldFlags: oldFlags{Against: c.Against}, outputFlags: outputFlags{decisionFlags: decisionFlags{Out: c.Out, Audit: c.Audit, Quiet: c.Quiet}, Report: c.Report}}
	o, err := f.options(of.given)
	if err != nil {
		return usageError{err}
	}
	for _, name := range []string{"audit", "cut", "least", "mask"} {
		if _, ok := of.given[name]; ok && c.Out == "" {
			return usageError{fmt.Errorf("--%s is about what is cut, so it needs --out", name)}
		}
	}
	cutting, isCutting := cuttings[c.Cut]
	switch {
	case !isCutting:
		return usageError{fmt.Errorf("--cut %q: must be words, sentences or paragraphs", c.Cut)}
	case c.Least < 0:
		return usageError{fmt.Errorf("--least %d: must be 0 or more", c.Least)}
	case c.Out != "" && strings.Contains(c.Text, ","):
		return usageError{fmt.Errorf("--out with --text %q: only the text of one field can be cut", c.Text)}
	}
	length, err := c.length(50)
	if err != nil {
		return usageError{err}
	}
	if strings.ContainsFunc(c.Mask, unicode.IsControl) || !utf8.ValidString(c.Mask) {
		return usageError{fmt.Errorf("--mask %q: must be a text without line ends and the like", c.Mask)}
	}
	o.Passages, o.Coverage = c.Passages, c.Coverage
	if wrong := o.CheckPaths(); wrong != "" {
		return usageError{fmt.Errorf("%s", wrong)}
	}
	cutting.MinDocuments = c.Documents
	p := &inside.Passages{Length: length, Cut: cutting, Mask: c.Mask, Least: c.Least}
	return inside.FindPassages(o, p, of.outs, of.stdin, of.stdout, of.stderr)
}

type decontaminateCommand struct {
	Tests string `arg:"" help:"The tests: a file, a directory or a pattern, of the formats of the inputs."`
	inputFlags
	Text       string  `group:"input" default:"text" placeholder:"NAMES" help:"Field or column with the text of a document, or several, separated by commas."`
	TestFormat string  `group:"input" placeholder:"NAME" help:"Format of the tests, as --format says that of the inputs."`
	TestID     string  `group:"input" name:"test-id" default:"id" placeholder:"NAME" help:"Field or column of the tests with the id; an item without one is known by its file and line."`
	Parts      string  `group:"input" default:"question,answer,text" placeholder:"NAMES" help:"Fields or columns of the tests that are looked for, each by itself; an item has one of them at least. In lines and .txt files, the text is."`
	Leaks      string  `group:"output" placeholder:"FILE" help:"What was found: a row for each part of an item in a document, with how much of it is there, and where the longest run stands; as .csv or .jsonl, or with tabs between and no header."`
	Items      string  `group:"output" placeholder:"FILE" help:"A row for each part of each item: in how many documents it stands, and the largest share of it that a document has; as .csv or .jsonl, or with tabs between and no header."`
	Out        string  `group:"output" placeholder:"FILE" help:"The documents without those in which something was found. The name says the format, as for the command dedup."`
	Share      float64 `group:"method" default:"0" placeholder:"X" help:"The smallest share of a part that a document must have, from 0 (any run that is long enough) to 1 (all of it)."`
	lengthFlags
	runFlags
	Quiet bool `group:"output" short:"q" help:"Print errors only."`
}

// Run looks for the tests.
func (c *decontaminateCommand) Run(of *call) error {
	f := flags{inputFlags: c.inputFlags, textFlags: textFlags{Text: c.Text}, methodFlags: defaults[methodFlags](), groupFlags: groupFlags{borderFlags: defaults[borderFlags]()}, runFlags: c.runFlags,
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
