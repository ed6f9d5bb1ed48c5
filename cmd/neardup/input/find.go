package input

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/neardup/neardup/cmd/neardup/cli"
)

// This file finds the input files: those that are named, those in directories, those that match patterns, and those that a file lists.

// A Finder collects sources.
type Finder struct {
	Format  string // as the user told it; "" to go by the names
	Room    int64  // of the sources
	Sources []Source
	Passed  []string // files in directories that have other formats
	Hidden  []string // files and folders in directories whose names begin with a point
}

// fail adds a source with an error.
func (f *Finder) fail(path string, err error) {
	f.Sources = append(f.Sources, Source{Path: path, Err: err})
}

// Find adds the files of an argument. A pattern becomes all files that match, and a directory all files in it and in its folders, in lexical
// order. An argument that cannot be found or listed becomes a source with an error.
func (f *Finder) Find(arg string) {
	if _, err := os.Stat(arg); arg == "-" || err == nil || !strings.ContainsAny(arg, "*?[{") {
		f.Add(arg)
		return
	}
	matches, err := doublestar.FilepathGlob(arg, doublestar.WithNoHidden())
	switch {
	case err != nil:
		f.fail(arg, fmt.Errorf("%s: %w", arg, err))
	case len(matches) == 0:
		f.fail(arg, fmt.Errorf("%s: no file matches this pattern", arg))
	}
	slices.Sort(matches)
	isTree := strings.Contains(arg, "**")
	for _, path := range matches {
		if info, err := os.Stat(path); isTree && err == nil && info.IsDir() {
			continue // ** has what is in it
		}
		f.Add(path)
	}
}

// Add adds a file, standard input, or the files of a directory.
func (f *Finder) Add(path string) {
	info, err := os.Stat(path)
	switch format := FormatOf(path, f.Format); {
	case path == "-":
		f.Sources = append(f.Sources, Source{Path: path, Format: cmp.Or(f.Format, "jsonl"), Room: f.Room})
	case err != nil:
		f.fail(path, cli.InFile(path, err))
	case info.IsDir():
		f.addDirectory(path)
	case format == "":
		f.fail(path, fmt.Errorf("%s: the file name does not end in a known format (%s); set --format", path, knownEnds()))
	default:
		f.Sources = append(f.Sources, Source{Path: path, Format: format, Info: info, Room: f.Room})
	}
}

// addDirectory adds the files of a directory: those with known formats, or all if the user told the format. Notes in Markdown beside
// collections are no documents of them.
func (f *Finder) addDirectory(arg string) {
	before := len(f.Sources)
	root := strings.TrimRight(arg, "/") + "/" // so that WalkDir follows arg if it is a link
	filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			f.fail(path, cli.InFile(path, err))
			return nil
		}
		if path != root && strings.HasPrefix(d.Name(), ".") {
			f.Hidden = append(f.Hidden, path)
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if !d.IsDir() {
			f.addFound(path)
		}
		return nil
	})
	found := f.Sources[before:]
	if slices.ContainsFunc(found, func(s Source) bool { return isCollection(s.Format) }) && f.Format == "" {
		found = slices.DeleteFunc(found, func(s Source) bool {
			isNote := slices.Contains(noteEnds, filepath.Ext(WithoutCompression(strings.ToLower(s.Path))))
			if isNote {
				f.Passed = append(f.Passed, s.Path)
			}
			return isNote
		})
		f.Sources = f.Sources[:before+len(found)]
	}
	if len(f.Sources) == before {
		f.fail(arg, fmt.Errorf("%s: this directory has no files in a known format (%s)", arg, knownEnds()))
	}
}

// noteEnds are the ends of the names of files that may be notes about others.
var noteEnds = []string{".md", ".markdown", ".rst"}

// isCollection reports whether a file of a format has many documents.
func isCollection(format string) bool { return format != "txt" && format != "html" && format != "" }

// addFound adds a file of a directory.
func (f *Finder) addFound(path string) {
	format := FormatOf(path, f.Format)
	info, err := os.Stat(path)
	switch {
	case err != nil:
		f.fail(path, cli.InFile(path, err))
	case format == "" || format == Fingerprints || !info.Mode().IsRegular():
		f.Passed = append(f.Passed, path)
	default:
		f.Sources = append(f.Sources, Source{Path: path, Format: format, Info: info, Room: f.Room})
	}
}

// Listed returns the paths that a file lists: one in each line, or with zero bytes between them, as find -print0 writes them.
func Listed(path string, stdin io.Reader) (paths []string, err error) {
	var text []byte
	if path == "-" {
		text, err = io.ReadAll(stdin)
	} else {
		text, err = ReadFile(path)
	}
	if err != nil {
		return nil, err
	}
	end := []byte("\n")
	if bytes.IndexByte(text, 0) >= 0 {
		end = []byte{0}
	}
	for line := range bytes.SplitSeq(text, end) {
		if line := strings.TrimSuffix(string(line), "\r"); line != "" {
			paths = append(paths, line)
		}
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%s: the list of inputs is empty", path)
	}
	return paths, nil
}

// ReadFile returns what is in a file. Its error has the path.
func ReadFile(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, cli.InFile(path, err)
	}
	return data, nil
}

// knownEnds lists the ends of the names of files that can be read.
func knownEnds() string {
	var ends []string
	for _, f := range Formats {
		ends = append(ends, strings.Fields(f.ends)...)
	}
	return strings.Join(ends, ", ")
}

// Fingerprints is the format of the files that --save writes.
const Fingerprints = "fingerprints"

// WithoutCompression returns the name of a file without the end that says how it is compressed.
func WithoutCompression(name string) string {
	for _, end := range compressions {
		if n := len(name) - len(end); n >= 0 && strings.EqualFold(name[n:], end) {
			return name[:n]
		}
	}
	return name
}

// FormatOf returns the format of a file: fingerprints if its name says so, otherwise the format
// that the user told, otherwise what the name says. It returns "" if the name says nothing.
func FormatOf(path, told string) string {
	name := WithoutCompression(strings.ToLower(path))
	switch ext := filepath.Ext(name); {
	case ext == ".fp":
		return Fingerprints
	case told != "":
		return told
	case ext != "":
		for _, f := range Formats {
			if slices.Contains(strings.Fields(f.ends), ext) {
				return f.Name
			}
		}
	}
	return ""
}
