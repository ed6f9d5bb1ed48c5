package main

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup"
)

// A function does something for the items of a call, and emits its results.
type function = func(ctx context.Context, c *call, emit func(*table) error) error

// functions are those that need no object.
var functions = map[string]function{
	"version": func(_ context.Context, _ *call, emit func(*table) error) error {
		version, err := new(neardup.Fingerprinter).Version()
		if err != nil {
			return err
		}
		return emit(&table{values: version})
	},
	"sum64": func(_ context.Context, c *call, emit func(*table) error) error {
		f, sums := new(neardup.Fingerprinter), make([]uint64, c.len())
		each(c.len(), func(i int) { sums[i] = uint64(f.Sum64(neardup.Text(c.item(i)))) })
		t := new(table)
		add(t, "sums", sums)
		return emit(t)
	},
	"sum128": func(_ context.Context, c *call, emit func(*table) error) error {
		f, sums := new(neardup.Fingerprinter), make([]uint64, 2*c.len())
		each(c.len(), func(i int) {
			s := f.Sum128(neardup.Text(c.item(i)))
			sums[2*i], sums[2*i+1] = s.Hi, s.Lo
		})
		t := new(table)
		add(t, "sums", sums)
		return emit(t)
	},
	"sign": func(_ context.Context, c *call, emit func(*table) error) error {
		var args struct{ Values int }
		if err := c.into(&args); err != nil {
			return err
		}
		f, m := new(neardup.Fingerprinter), neardup.MinHash{Values: args.Values}
		if _, err := m.Version(f); err != nil {
			return err
		}
		values := make([]uint32, args.Values*c.len())
		each(c.len(), func(i int) {
			copy(values[i*args.Values:], f.Sign(neardup.Text(c.item(i)), m))
		})
		t := new(table)
		add(t, "values", values)
		return emit(t)
	},
	"jaccard": func(_ context.Context, c *call, emit func(*table) error) error {
		signature := func(i int) neardup.Signature {
			s := make(neardup.Signature, len(c.item(i))/4)
			for k := range s {
				s[k] = binary.NativeEndian.Uint32([]byte(c.item(i)[4*k:]))
			}
			return s
		}
		t := new(table)
		add(t, "jaccard", []float64{signature(0).Jaccard(signature(1))})
		return emit(t)
	},
	"new": func(_ context.Context, c *call, emit func(*table) error) error {
		var args struct {
			Path        string
			IDs         string
			Probability float64
			Similarity  float64
			Bias        float64
			Kinds       *neardup.Kind
			Memory      int64
		}
		if err := c.into(&args); err != nil {
			return err
		}
		o := dedup.Options{Probability: args.Probability, Similarity: args.Similarity, Bias: args.Bias, Memory: args.Memory}
		if args.Kinds != nil {
			o.Kinds = *args.Kinds
		}
		var d object
		var err error
		switch args.IDs {
		case "int":
			d, err = newDeduplicator(args.Path, o, ints{})
		case "str":
			d, err = newDeduplicator(args.Path, o, strs{})
		default:
			err = fmt.Errorf("neardup: ids must be int or str, not %s", args.IDs)
		}
		if err != nil {
			return err
		}
		return emitHandle(emit, d)
	},
	"passages":        findPassages,
	"decontaminate":   decontaminate,
	"index":           newIndex,
	"signature_index": newSignatureIndex,
}
