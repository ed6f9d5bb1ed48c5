package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/cmd/neardup/output"
	"github.com/neardup/neardup/cmd/neardup/verify"
)

// This file has the command verify, which checks what --audit wrote. Package verify does the checking.

type verifyCommand struct {
	Audit string `arg:"" help:"What --audit wrote: a .csv or .jsonl file."`
	inputFlags
	textFlags
	Records bool    `group:"input" help:"The audit is that of the command records."`
	Shared  float64 `group:"output" default:"0" placeholder:"X" help:"The smallest share of words that a removed document must have in common with the one that is kept, from 0 to 1; one with less is an error."`
}

// errWrong says that an audit does not hold.
var errWrong = errors.New("the audit does not hold")

// Run checks an audit against the inputs: all that the call read, old ones too.
func (c *verifyCommand) Run(of *call) error {
	o, err := (&flags{inputFlags: c.inputFlags, textFlags: c.textFlags, groupFlags: groupFlags{Group: "centres", Keep: "first", Probability: 0.5}, methodFlags: usualMethod, runFlags: runFlags{Workers: 1}}).options(of.given)
	if err != nil {
		return usageError{err}
	}
	o.cols.IsRecord, o.cols.All = c.Records, c.Records
	rows, err := readAudit(c.Audit)
	if err != nil {
		return err
	}
	all := o.newCollection(of.stderr)
	if err := all.findInputs(o, of.stdin); err != nil {
		return err
	}
	var least []verify.Row // those that have the fewest words in common
	wrong, earlier := 0, 0
	err = verify.Audit(rows, all.sources, o.cols, o.maxLine, c.Shared, func(row verify.Row, what string) {
		switch {
		case what != "":
			if wrong++; wrong <= 20 {
				fmt.Fprintln(of.stderr, "neardup:", cli.Printable(strings.TrimSpace(row.Removed+" "+row.At)+": "+what, 2000))
			}
		case row.KeptAt == "":
			earlier++
		default:
			least = append(least, row)
			slices.SortStableFunc(least, func(x, y verify.Row) int { return strings.Compare(x.Shared, y.Shared) })
			least = least[:min(len(least), 3)]
		}
	})
	if err != nil {
		return err
	}
	if wrong > 0 {
		return fmt.Errorf("%s: %w: %d of %d documents and files are not as it says", c.Audit, errWrong, wrong, len(rows)+len(all.sources))
	}
	fmt.Fprintf(of.stdout, "%d documents were removed. Of each the text is the one that was read, another document is kept, and the two have as many words in common as the audit says.\n", len(rows))
	if earlier > 0 {
		fmt.Fprintf(of.stdout, "Of %d of them that is a document of an earlier call, whose text is not here to be compared.\n", earlier)
	}
	for n, row := range least {
		if n == 0 {
			fmt.Fprintln(of.stdout, "Those that have the least in common with the one that is kept:")
		}
		fmt.Fprintf(of.stdout, "    %s of the words: %s and %s\n", row.Shared, cli.Printable(row.At, 200), cli.Printable(row.KeptAt, 200))
	}
	return nil
}

// readAudit returns the rows of an audit.
func readAudit(path string) (rows []verify.Row, err error) {
	s := input.Source{Path: path, Format: input.FormatOf(path, "")}
	if s.Format != "csv" && s.Format != "jsonl" {
		return nil, fmt.Errorf("%s: an audit to verify is a .csv or .jsonl file", path)
	}
	r, done, err := s.Open(nil, io.Discard)
	if err != nil {
		return nil, err
	}
	defer done()
	var failed error
	err = s.Read(0, r, input.Columns{ID: "removed", IDGiven: true, IsRecord: true, All: true}, 1<<26, func(it input.Item) bool {
		d, rec, err := it.Record(&s, input.Columns{ID: "removed", IDGiven: true})
		if s.Format == "csv" {
			for name, cell := range rec {
				rec[name] = output.Unharmed(cell)
			}
			d.ID = output.Unharmed(d.ID)
		}
		row := verify.Row{Removed: d.ID, At: rec["at"], Kept: rec["kept"], KeptAt: rec["kept_at"], Shared: rec["shared"],
			Text: rec["text_sha256"], KeptText: rec["kept_text_sha256"], Source: rec["sha256"], KeptSource: rec["kept_sha256"]}
		if err == nil && (row.At == "" || row.Text == "") {
			err = errors.New("not a row that --audit wrote")
		}
		if err != nil {
			failed = fmt.Errorf("%s:%d: %w", path, it.Line, err)
		}
		rows = append(rows, row)
		return failed == nil
	})
	return rows, cmp.Or(failed, err)
}
