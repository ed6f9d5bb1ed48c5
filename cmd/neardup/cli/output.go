// Package cli is what the commands of the program share: output files that are written completely or
// not at all, compressed files, and what is shown to the user.
package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"
	"github.com/klauspost/pgzip"
)

// Outputs are the files that a program is writing. Their content goes to temporary files in the
// same directories. Commit moves them to their places when all are complete.
type Outputs struct {
	mu    sync.Mutex // a signal may call Discard at any time
	files []*Output
}

// An Output is a file that is being written.
type Output struct {
	*bufio.Writer
	path    string      // where links lead to
	file    *os.File    // the temporary file; if direct, the pipe or device, nil for standard output
	mode    fs.FileMode // of the file when it is complete
	direct  bool        // whether it is written directly: a pipe, a device or standard output
	closers []io.Closer
}

// Create begins a file. It is compressed if its name ends in .gz or .zst. The path "-" means
// stdout.
func (o *Outputs) Create(path string, stdout io.Writer) (*Output, error) {
	if end := strings.ToLower(filepath.Ext(path)); end == ".xz" || end == ".bz2" {
		return nil, fmt.Errorf("%s: this compression cannot be written; use .gz or .zst", path)
	}
	out, w, err := open(path, stdout)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	o.files = append(o.files, out)
	o.mu.Unlock()
	switch strings.ToLower(filepath.Ext(path)) {
	case ".gz":
		z := pgzip.NewWriter(w) // blocks of 1 MB on all processors; how many these are does not change the file
		out.closers, w = append(out.closers, z), z
	case ".zst":
		z, err := zstd.NewWriter(w)
		if err != nil {
			return nil, err
		}
		out.closers, w = append(out.closers, z), z
	}
	out.Writer = bufio.NewWriterSize(w, 1<<18)
	return out, nil
}

// open opens what is written to: standard output, a pipe or a device, or a temporary file beside the one of the path.
func open(path string, stdout io.Writer) (out *Output, w io.Writer, err error) {
	info, err := os.Stat(path)
	switch {
	case path == "-" || path == "/dev/stdout":
		return &Output{path: path, direct: true}, stdout, nil
	case err == nil && info.IsDir():
		return nil, nil, fmt.Errorf("%s: this is a directory", path)
	case err == nil && (!info.Mode().IsRegular() || strings.HasPrefix(path, "/dev/") || strings.HasPrefix(path, "/proc/")):
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		return &Output{path: path, direct: true, file: f}, f, err
	}
	if err := mayReplace(path, info); err != nil {
		return nil, nil, err
	}
	out = &Output{path: Place(path)}
	name := filepath.Join(filepath.Dir(out.path), fmt.Sprintf(".neardup-%016x.tmp", rand.Uint64()))
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, errors.Unwrap(err))
	}
	made, err := f.Stat()
	if err != nil {
		return nil, nil, errors.Join(err, f.Close(), os.Remove(name))
	}
	out.mode = made.Mode().Perm()
	if info != nil {
		out.mode = info.Mode().Perm() // of the file that it replaces
	}
	f.Chmod(0o600) // nobody else sees it before it is complete
	out.file = f
	return out, f, nil
}

// mayReplace returns an error if the file of a path, of which info is known if it is there, may not be written.
func mayReplace(path string, info fs.FileInfo) error {
	if info == nil {
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("%s: a link to a file that does not exist", path)
		}
		return nil
	}
	old, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("%s: %w", path, errors.Unwrap(err))
	}
	return old.Close()
}

// Place returns where the file with a path is, or will be: an absolute path without links.
func Place(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path))
	}
	return path
}

// A Path says where an output goes, and where to store it. If Name is empty, the output is not
// created.
type Path struct {
	Name string
	To   **Output
}

// CreateAll creates outputs. It returns where a summary can be printed: stdout, or stderr if an
// output goes to stdout.
func (o *Outputs) CreateAll(stdout, stderr io.Writer, paths ...Path) (summary io.Writer, err error) {
	summary = stdout
	for _, p := range paths {
		if p.Name == "" {
			continue
		}
		if *p.To, err = o.Create(p.Name, stdout); err != nil {
			return nil, err
		}
		if (*p.To).direct && (*p.To).file == nil {
			summary = stderr
		}
	}
	return summary, nil
}

// Commit completes all files and moves them to their places. After an error the caller calls
// Discard.
func (o *Outputs) Commit() error {
	for _, out := range o.files {
		err := out.Flush()
		for _, c := range out.closers {
			if e := c.Close(); err == nil {
				err = e
			}
		}
		if out.file != nil {
			if !out.direct && err == nil {
				out.file.Chmod(out.mode) // if we may
				err = out.file.Sync()
			}
			if e := out.file.Close(); err == nil {
				err = e
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", out.path, err)
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, out := range o.files {
		if !out.direct {
			if err := os.Rename(out.file.Name(), out.path); err != nil {
				return err
			}
		}
	}
	o.files = nil
	return nil
}

// Discard removes the temporary files that were not committed.
func (o *Outputs) Discard() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, out := range o.files {
		if out.file != nil && !out.direct {
			out.file.Close()
			os.Remove(out.file.Name())
		}
	}
}

// Escape returns an id that is safe in a column and on a terminal. A backslash, tab or line end
// becomes an escape with a backslash. Another control character becomes \x1b or \u202e, and so does
// a byte that is not UTF-8.
func Escape(id string) string {
	if utf8.ValidString(id) && !strings.ContainsFunc(id, func(r rune) bool { return r == '\\' || isControl(r) }) {
		return id
	}
	var b strings.Builder
	for i, r := range id {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(id[i:], "\uFFFD"): // a byte that is not UTF-8
			fmt.Fprintf(&b, `\x%02x`, id[i])
		case r == '\\':
			b.WriteString(`\\`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case isControl(r) && r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case isControl(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// isControl reports whether r controls or reorders the display.
func isControl(r rune) bool {
	return unicode.IsControl(r) || r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069
}

// Unescape returns the id that Escape wrote so.
func Unescape(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for text != "" {
		before, after, found := strings.Cut(text, `\`)
		b.WriteString(before)
		if text = after; !found || text == "" {
			break
		}
		c := text[0]
		text = text[1:]
		digits := map[byte]int{'x': 2, 'u': 4}[c]
		if n, err := strconv.ParseUint(text[:min(digits, len(text))], 16, 32); digits > 0 && digits <= len(text) && err == nil {
			b.WriteRune(rune(n))
			text = text[digits:]
			continue
		}
		if i := strings.IndexByte("tnr", c); i >= 0 {
			c = "\t\n\r"[i]
		}
		b.WriteByte(c)
	}
	return b.String()
}

// Exists reports whether there is something at path.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return path != "" && err == nil
}
