package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/neardup/neardup"
)

// A function does something for the items of a call, and emits its results.
type function = func(ctx context.Context, c *call, emit func(*table) error) error

// fingerprinter returns the Fingerprinter of a call, with the tokenizer that the arguments name: words, wordsN for runs of N words, charsN
// for runs of N characters, or none for the default.
func (c *call) fingerprinter() (*neardup.Fingerprinter, error) {
	var args struct{ Tokenizer string }
	if err := c.into(&args); err != nil {
		return nil, err
	}
	f := new(neardup.Fingerprinter)
	kind := strings.TrimRight(args.Tokenizer, "0123456789")
	n, err := strconv.Atoi(args.Tokenizer[len(kind):])
	switch {
	case args.Tokenizer == "":
	case args.Tokenizer == "words":
		f.Tokenizer = neardup.Words{}
	case kind == "words" && err == nil && n > 0:
		f.Tokenizer = neardup.Shingles{N: n}
	case kind == "chars" && err == nil && n > 0:
		f.Tokenizer = neardup.NGrams{N: n}
	default:
		return nil, fmt.Errorf("neardup: unknown tokenizer %q: use words, words2, words3 and so on, or chars2, chars3 and so on", args.Tokenizer)
	}
	return f, f.Check()
}

// functions are those that need no object.
var functions = map[string]function{
	"version": func(_ context.Context, c *call, emit func(*table) error) error {
		f, err := c.fingerprinter()
		if err != nil {
			return err
		}
		version, err := f.Version()
		if err != nil {
			return err
		}
		return emit(&table{values: version})
	},
	"sum64": func(ctx context.Context, c *call, emit func(*table) error) error {
		f, err := c.fingerprinter()
		if err != nil {
			return err
		}
		sums := make([]uint64, c.len())
		if err := each(ctx, c.len(), func(i int) { sums[i] = uint64(f.Sum64(neardup.Text(c.text(i)))) }); err != nil {
			return err
		}
		t := new(table)
		add(t, "sums", sums)
		return emit(t)
	},
	"sum128": func(ctx context.Context, c *call, emit func(*table) error) error {
		f, err := c.fingerprinter()
		if err != nil {
			return err
		}
		sums := make([]uint64, 2*c.len())
		err = each(ctx, c.len(), func(i int) {
			s := f.Sum128(neardup.Text(c.text(i)))
			sums[2*i], sums[2*i+1] = s.Hi, s.Lo
		})
		if err != nil {
			return err
		}
		t := new(table)
		add(t, "sums", sums)
		return emit(t)
	},
	"sign": func(ctx context.Context, c *call, emit func(*table) error) error {
		var args struct{ Values int }
		if err := c.into(&args); err != nil {
			return err
		}
		f, err := c.fingerprinter()
		if err != nil {
			return err
		}
		m := neardup.MinHash{Values: args.Values}
		if _, err := m.Version(f); err != nil || args.Values == 0 {
			return cmp.Or(err, errors.New("neardup: a signature cannot have 0 values"))
		}
		values := make([]uint32, args.Values*c.len())
		err = each(ctx, c.len(), func(i int) { copy(values[i*args.Values:], f.Sign(neardup.Text(c.text(i)), m)) })
		if err != nil {
			return err
		}
		t := new(table)
		add(t, "values", values)
		return emit(t)
	},
	"jaccard": func(_ context.Context, c *call, emit func(*table) error) error {
		t := new(table)
		add(t, "jaccard", []float64{signatureIn(c.item(0)).Jaccard(signatureIn(c.item(1)))})
		return emit(t)
	},
	"passages":      findPassages,
	"decontaminate": decontaminate,
}

// makers make objects.
var makers = map[string]func(c *call) (object, error){
	"deduplicator":    makeDeduplicator,
	"index":           makeIndex,
	"signature_index": makeSignatureIndex,
	"stream":          makeStream,
	"part":            makePart,
}
