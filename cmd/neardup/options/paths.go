package options

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/input"
)

// This file makes sure that no output is also an input or another output.

// CheckPaths checks the names of the outputs.
func (o *Options) CheckPaths() string {
	for _, of := range []struct{ flag, path string }{{"pairs", o.Pairs}, {"groups", o.Groups}, {"audit", o.Audit}, {"passages", o.Passages}, {"coverage", o.Coverage}, {"leaks", o.Leaks}, {"items", o.Items}} {
		if f := input.FormatOf(of.path, ""); f != "" && !slices.Contains([]string{"csv", "tsv", "jsonl", "txt"}, f) {
			return fmt.Sprintf("--%s %q: this format cannot be written here; use .csv, .jsonl or .tsv", of.flag, of.path)
		}
	}
	seen := map[string]bool{}
	for _, path := range append(o.Paths(), o.Save, o.Lines, o.Stats) {
		if path == "" {
			continue
		}
		place := cli.Place(path)
		if seen[place] {
			return fmt.Sprintf("%s: two outputs have this name", path)
		}
		seen[place] = true
		if o.State != "" && path != o.Lines && path != o.Stats && filepath.Dir(place) == cli.Place(o.State) {
			return fmt.Sprintf("%s: outputs cannot be written into the --state directory; choose another place", path)
		}
	}
	return ""
}

// Written returns those of the outputs and parts that exist already. It returns an error if one of them is also an input.
func (o *Options) Written() ([]fs.FileInfo, error) {
	outputs := o.Existing()
	for _, path := range o.PartFiles {
		part, err := os.Stat(path)
		if err != nil {
			continue
		}
		if IsAmong(outputs, part) {
			return nil, fmt.Errorf("%s: this file of a shard is also an output", path)
		}
		outputs = append(outputs, part)
	}
	read := []string{o.FilesFrom, o.SchemaFile, o.Secret}
	read = append(append(read, o.Given.Labels...), o.Given.Path)
	for _, path := range read {
		if given, err := os.Stat(path); err == nil && IsAmong(outputs, given) {
			return nil, BothWays(path)
		}
	}
	return outputs, nil
}

// IsAmong reports whether a file is one of the outputs.
func IsAmong(outputs []fs.FileInfo, file fs.FileInfo) bool {
	return slices.ContainsFunc(outputs, func(to fs.FileInfo) bool { return os.SameFile(to, file) })
}

// BothWays is the error for a file that is read and would also be written.
func BothWays(path string) error {
	return fmt.Errorf("%s: the same file is an input and an output", path)
}

// Paths returns the paths of the outputs, "" for those that are not wanted.
func (o *Writing) Paths() []string {
	return []string{o.Pairs, o.Groups, o.Out, o.Annotate, o.Audit, o.Report, o.Passages, o.Coverage, o.Leaks, o.Items}
}

// Existing returns the outputs that exist already.
func (o *Writing) Existing() (files []fs.FileInfo) {
	for _, path := range o.Paths() {
		if info, err := os.Stat(path); path != "" && err == nil {
			files = append(files, info)
		}
	}
	return files
}
