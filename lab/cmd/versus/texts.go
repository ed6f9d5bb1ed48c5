package main

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/neardup/neardup"
)

// texts has the texts of all rows.
type texts struct {
	en, zh    string // some megabytes, or what the repository has
	segmenter *neardup.Segmenter
}

// readTexts reads the texts in dir, or those of the repository if dir is empty.
func readTexts(dir string) (*texts, error) {
	t := &texts{}
	var err error
	if t.segmenter, err = neardup.NewSegmenter(neardup.SegmenterOptions{}); err != nil {
		return nil, err
	}
	for name, to := range map[string]*string{"en": &t.en, "zh": &t.zh} {
		if dir == "" {
			*to, err = readLines(filepath.Join("..", "testdata", name+".jsonl"))
		} else {
			*to, err = readPart(filepath.Join(dir, "throughput", name+".txt.gz"))
		}
		if err != nil {
			return nil, err
		}
	}
	return t, nil
}

// readLines returns the texts of a file of JSON lines, one after the other.
func readLines(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var b strings.Builder
	for dec := json.NewDecoder(f); ; {
		var d struct{ Text string }
		if err := dec.Decode(&d); err == io.EOF {
			return b.String(), nil
		} else if err != nil {
			return "", err
		}
		b.WriteString(d.Text + "\n")
	}
}

// readPart returns the first 8 MB of a compressed file.
func readPart(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	r, err := gzip.NewReader(bufio.NewReader(f))
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(io.LimitReader(r, 8<<20))
	return string(b), err
}

// windows returns pieces of a text of a size in bytes, each in another place. Characters may be cut.
func windows(text string, size int) (all []string) {
	for at := 0; at+size <= len(text); at += size {
		all = append(all, text[at:at+size])
	}
	return all
}
