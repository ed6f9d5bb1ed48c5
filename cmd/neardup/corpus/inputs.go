package corpus

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/cmd/neardup/options"
)

// This file finds the sources, and makes sure that they can be read more than once.

// Open returns a corpus with the sources of a call, and without documents. It returns an error if a source cannot be read, or is one of the outputs.
func Open(o *options.Options, stdin io.Reader, stderr io.Writer) (*Corpus, error) {
	outputs, err := o.Written()
	if err != nil {
		return nil, err
	}
	c := New(o, stdin, stderr)
	return c, c.find(outputs)
}

// find finds the sources. It returns an error if one of them cannot be read, or is one of the outputs.
func (c *Corpus) find(outputs []fs.FileInfo) error {
	o := c.Reading
	f := input.Finder{Format: o.Format, Room: options.Room(o.Memory)}
	if o.Against != "" {
		f.Find(o.Against)
	}
	c.OldSources = len(f.Sources)
	for _, arg := range o.Args {
		f.Find(arg)
	}
	if o.FilesFrom != "" {
		paths, err := input.Listed(o.FilesFrom, c.Stdin)
		if err != nil {
			return err
		}
		for _, path := range paths {
			f.Add(path)
		}
	}
	c.Sources, c.Read.Passed, c.Read.Hidden = f.Sources, f.Passed, f.Hidden
	for i, s := range c.Sources {
		if s.Err != nil && (!o.SkipBad || i < c.OldSources) {
			return s.Err
		}
		if s.Format == input.Fingerprints && i >= c.OldSources {
			return fmt.Errorf("%s:1: a file of saved fingerprints can only be given to --against", s.Path)
		}
	}
	return Overwritten(c.Sources, outputs)
}

// Overwritten returns an error if a source is also an output.
func Overwritten(sources []input.Source, outputs []fs.FileInfo) error {
	for _, s := range sources {
		if s.Regular() && options.IsAmong(outputs, s.Info) {
			return options.BothWays(s.Path)
		}
	}
	return nil
}

// KeepCopies copies standard input and pipes to temporary files, because they cannot be read twice.
// The files have no name, so they vanish when the program ends. Old sources are copied only if all
// is set; otherwise they are read once.
func (c *Corpus) KeepCopies(all bool) error {
	for i := range c.Sources {
		s := &c.Sources[i]
		if s.Regular() || s.Copy != nil || s.Err != nil || i < c.OldSources && !all {
			continue
		}
		r := c.Stdin
		if s.Path != "-" {
			f, err := os.Open(s.Path)
			if err != nil {
				s.Err = cli.InFile(s.Path, err)
				continue
			}
			defer f.Close()
			r = f
		}
		var err error
		if s.Copy, err = input.TemporaryCopy(r); err != nil {
			return fmt.Errorf("copying %s: %w", s.Path, err)
		}
	}
	return nil
}

// CloseCopies closes what KeepCopies has made.
func (c *Corpus) CloseCopies() {
	for _, s := range c.Sources {
		if s.Copy != nil {
			s.Copy.Close()
		}
	}
}

// Unchanged returns an error if a file has changed since it was found.
func (c *Corpus) Unchanged() error {
	for i := range c.Sources {
		s := &c.Sources[i]
		if !s.Regular() {
			continue
		}
		now, err := os.Stat(s.Path)
		if err != nil || now.Size() != s.Info.Size() || !now.ModTime().Equal(s.Info.ModTime()) {
			return fmt.Errorf("%s: the file changed while it was being read", s.Path)
		}
	}
	return nil
}

// An InputFile tells whether an input is still the same.
type InputFile struct {
	Path     string
	Size     int64
	Modified time.Time
}

// InputFilesOf tells whether inputs are still the same.
func InputFilesOf(sources []input.Source) (inputs []InputFile) {
	for i := range sources {
		in := InputFile{Path: sources[i].Path}
		if sources[i].Regular() {
			in.Size, in.Modified = sources[i].Info.Size(), sources[i].Info.ModTime().UTC()
			if path, err := filepath.Abs(in.Path); err == nil {
				in.Path = path
			}
		}
		inputs = append(inputs, in)
	}
	return inputs
}

// Equal reports whether an input is the same.
func (in InputFile) Equal(other InputFile) bool {
	return in.Path == other.Path && in.Size == other.Size && in.Modified.Equal(other.Modified)
}

// Clone returns a copy whose sources may be read while those of c are, and which reports errors to another writer. The documents are the same.
func (c *Corpus) Clone(errors io.Writer) *Corpus {
	own := *c
	own.Log.Errors, own.Sources = errors, slices.Clone(c.Sources) // whose headers and notes each reading sets
	for k := range own.Sources {
		own.Sources[k].Notes = slices.Clip(own.Sources[k].Notes)
	}
	if c.Rows != nil {
		rows := *c.Rows
		own.Rows, rows.Corpus = &rows, c.Rows.Clone(errors)
	}
	return &own
}
