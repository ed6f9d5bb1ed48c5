package group

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/input"
)

// This file reads labels: pairs of which somebody has said whether they are duplicates.

// A Label is a line of a file of labels: two documents that are the same, or not; or with keep, the document that somebody
// wants to keep of its group.
type Label struct {
	A, B string
	Same bool
	Keep string
	Line int
}

// errLabel is the error of a line that is no label.
var errLabel = errors.New(`not a label: two ids and "same" or "different"`)

// ReadLabels reads a file of labels, and of documents to keep. A pair that has several labels has the last one.
func ReadLabels(path string) ([]Label, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, cli.InFile(path, err)
	}
	defer f.Close()
	plain, finish, err := cli.Decompress(f, path, 1<<27)
	if err != nil {
		return nil, err
	}
	defer finish()
	lines := &input.LineReader{R: plain, Max: 1 << 20}
	var labels []Label
	at := map[[2]string]int{}
	for {
		text, err := lines.Next()
		if err == io.EOF {
			return labels, nil
		}
		var label Label
		if err == nil {
			if text = bytes.TrimSpace(text); len(text) == 0 || text[0] == '#' {
				continue
			}
			label, err = parseLabel(string(text))
		}
		if err == errUnsure || errors.Is(err, errHeader) && lines.Line == 1 {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, lines.Line, err)
		}
		label.Line = int(lines.Line)
		if label.Keep != "" {
			labels = append(labels, label)
			continue
		}
		key := [2]string{min(label.A, label.B), max(label.A, label.B)}
		if i, ok := at[key]; ok {
			labels[i] = label
		} else {
			at[key] = len(labels)
			labels = append(labels, label)
		}
	}
}

// eachLabel calls use with the labels of files. It adds the place to an error.
func eachLabel(paths []string, use func(l Label) error) error {
	for _, path := range paths {
		labels, err := ReadLabels(path)
		if err != nil {
			return err
		}
		for _, l := range labels {
			if err := use(l); err != nil {
				return fmt.Errorf("%s:%d: %w", path, l.Line, err)
			}
		}
	}
	return nil
}

// errHeader is the error of a line that may be a header.
var errHeader = fmt.Errorf("%w", errLabel)

// errUnsure is the error of a line that says that nobody knows.
var errUnsure = errors.New("unsure")

// parseLabel reads a line.
func parseLabel(line string) (l Label, err error) {
	if line[0] == '{' {
		return parseObject(line)
	}
	fields := strings.Split(line, "\t")
	if len(fields) < 3 {
		r := csv.NewReader(strings.NewReader(line))
		if fields, err = r.Read(); err != nil || len(fields) < 3 {
			return l, errLabel
		}
	}
	l = Label{A: fields[0], B: fields[1]}
	switch strings.ToLower(strings.TrimSpace(fields[2])) {
	case "same", "true", "yes", "1", "duplicate":
		l.Same = true
	case "unsure":
		return l, errUnsure
	case "different", "false", "no", "0":
	default:
		return l, errHeader
	}
	return l, nil
}

// parseObject reads a line with an object of JSON.
func parseObject(line string) (l Label, err error) {
	var object struct {
		A, B, Same, Keep any
		Unsure           bool
	}
	d := json.NewDecoder(strings.NewReader(line))
	d.UseNumber() // numbers keep their spelling, as ids do
	if err := d.Decode(&object); err != nil {
		return l, fmt.Errorf("not JSON: %w", err)
	}
	if object.Unsure && object.Same == nil {
		return l, errUnsure
	}
	id := func(x any) string {
		switch x := x.(type) {
		case string:
			return x
		case json.Number:
			return x.String()
		}
		return ""
	}
	if l.Keep = id(object.Keep); l.Keep != "" {
		return l, nil
	}
	same, ok := object.Same.(bool)
	if l = (Label{A: id(object.A), B: id(object.B), Same: same}); !ok || l.A == "" || l.B == "" {
		return l, errLabel
	}
	return l, nil
}
