package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/corpus"
	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/cmd/neardup/output"
	"github.com/neardup/neardup/cmd/neardup/verify"
	"github.com/neardup/neardup/cmd/neardup/write"
)

// This file has the command verify, which checks what --audit wrote. Package verify does the checking.

type verifyCommand struct {
	Audit string `arg:"" help:"The file that --audit wrote: .csv or .jsonl."`
	inputFlags
	textFlags
	Records bool    `group:"input" help:"The audit was written by the command records."`
	Shared  float64 `group:"output" default:"0" placeholder:"X" help:"The minimum share of words, from 0 to 1, that a removed document must have in common with the one that is kept. A lower share is an error."`
}

// errWrong says that an audit does not hold.
var errWrong = errors.New("verification failed")

// Run checks an audit against the inputs: all that the call read, old ones too.
func (c *verifyCommand) Run(of *call) error {
	o, err := (&flags{inputFlags: c.inputFlags, textFlags: c.textFlags, groupFlags: groupFlags{thresholdFlags: defaults[thresholdFlags]()}, methodFlags: defaults[methodFlags](), runFlags: runFlags{Workers: 1}}).options(of.given)
	if err != nil {
		return usageError{err}
	}
	o.Cols.IsRecord, o.Cols.All = c.Records, c.Records
	rows, err := readAudit(c.Audit)
	if err != nil {
		return err
	}
	all, err := corpus.Open(o, of.stdin, of.stderr)
	if err != nil {
		return err
	}
	sources, err := namedSources(rows, all.Sources)
	if err != nil {
		return err
	}
	var least []verify.Row // those that have the fewest words in common
	wrong, earlier := 0, 0
	err = verify.Audit(rows, sources, o.Cols, o.MaxLine, c.Shared, func(row verify.Row, what string) {
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
		return fmt.Errorf("%s: %w: %d of %d documents and files differ from the audit", c.Audit, errWrong, wrong, len(rows)+len(all.Sources))
	}
	fmt.Fprintln(of.stdout, cli.Count(len(rows), "document was removed. Its", "documents were removed. For each one, the"), "text has not changed, another document is kept in its place, and the two share the words that the audit reports.")
	if earlier > 0 {
		fmt.Fprintf(of.stdout, "For %d of them, the kept document is from an earlier run, and its text is not available to compare.\n", earlier)
	}
	for n, row := range least {
		if n == 0 {
			fmt.Fprintln(of.stdout, "Those that have the least in common with the one that is kept:")
		}
		fmt.Fprintf(of.stdout, "    %s of the words: %s and %s\n", row.Shared, cli.Printable(row.At, 200), cli.Printable(row.KeptAt, 200))
	}
	return nil
}

// namedSources finds the names that sources have in an audit. A file that has another name now is known by its hash.
func namedSources(rows []verify.Row, all []input.Source) (sources []verify.Source, err error) {
	hashes := map[string]string{}
	for _, row := range rows {
		for _, of := range [][2]string{{row.At, row.Source}, {row.KeptAt, row.KeptSource}} {
			path := verify.PathOf(of[0])
			if before, twice := hashes[path]; twice && before != of[1] {
				return nil, fmt.Errorf("%w: the audit has two hashes for %s", errWrong, path)
			}
			hashes[path] = of[1]
		}
	}
	for i := range all {
		delete(hashes, all[i].Path)
	}
	names := slices.Sorted(maps.Keys(hashes)) // that no source has
	for i := range all {
		sum, err := all[i].Sum()
		if err != nil {
			return nil, err
		}
		name := all[i].Path
		if k := slices.IndexFunc(names, func(name string) bool { return sum != "" && hashes[name] == sum }); k >= 0 {
			isNamed := slices.ContainsFunc(rows, func(row verify.Row) bool {
				return strings.HasPrefix(row.At, name+":") || strings.HasPrefix(row.KeptAt, name+":")
			})
			if !isNamed {
				name = names[k]
				names = slices.Delete(names, k, k+1)
			}
		}
		sources = append(sources, verify.Source{Source: &all[i], Name: name, Sum: sum})
	}
	return sources, nil
}

// readAudit returns the rows of an audit.
func readAudit(path string) (rows []verify.Row, err error) {
	if format := input.FormatOf(path, ""); format != "csv" && format != "jsonl" {
		return nil, fmt.Errorf("%s: the audit must be a .csv or .jsonl file", path)
	}
	settings := ""
	err = output.ReadTable(path, write.AuditColumns, func(_ int32, row map[string]string) error {
		rows = append(rows, verify.Row{Removed: row["removed"], At: row["at"], Kept: row["kept"], KeptAt: row["kept_at"], Shared: row["shared"],
			Text: row["text_sha256"], KeptText: row["kept_text_sha256"], Source: row["sha256"], KeptSource: row["kept_sha256"]})
		if row["at"] == "" || row["text_sha256"] == "" {
			return errors.New("not a row that --audit wrote")
		}
		settings = row["settings"]
		return nil
	})
	if i := strings.LastIndex(settings, " removed="); i >= 0 && err == nil && settings[i+len(" removed="):] != strconv.Itoa(len(rows)) {
		removed := settings[i+len(" removed="):]
		err = fmt.Errorf("%s: %w: the audit has only %d of %s rows", path, errWrong, len(rows), removed)
	}
	return rows, err
}
