package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"

	"github.com/neardup/neardup"
)

// This file has the indexes of fingerprints and of signatures. Their values are an item of a call, one after the other: 8 bytes for
// a fingerprint, 4 for each value of a signature, in the byte order of the machine.

// An anyIndex is what the indexes of the library have in common.
type anyIndex[ID comparable, V any] interface {
	Len() int
	AddAll(ctx context.Context, values iter.Seq2[ID, V]) error
	Delete(id ID) (bool, error)
	SearchMany(ctx context.Context, values []V) ([][]neardup.Match[ID], error)
	Nearest(ctx context.Context, v V, n int) ([]neardup.Match[ID], error)
	Pairs(ctx context.Context) iter.Seq2[neardup.Pair[ID], error]
	Groups(ctx context.Context, by neardup.Linkage) ([]neardup.Group[ID], error)
	Sync() error
	Close() error
}

// An index is one of Python's.
type index[ID comparable, V any] struct {
	anyIndex[ID, V]
	ids    idType[ID]
	values func(item []byte) ([]V, error)
}

// method implements object.
func (x *index[ID, V]) method(name string) (function, error) {
	f, ok := map[string]function{
		"len": func(_ context.Context, _ *call, emit func(*table) error) error { return emit(&table{values: x.Len()}) },
		"add": x.add, "delete": deletes(x.ids, x), "search": x.search, "nearest": x.nearest, "pairs": x.pairs, "groups": x.groups,
		"sync":  func(context.Context, *call, func(*table) error) error { return x.Sync() },
		"close": func(context.Context, *call, func(*table) error) error { return x.Close() },
	}[name]
	if !ok {
		return nil, fmt.Errorf("neardup: an index has no method %q", name)
	}
	return f, nil
}

func (x *index[ID, V]) add(ctx context.Context, c *call, _ func(*table) error) error {
	var args struct{ Count int }
	if err := c.into(&args); err != nil {
		return err
	}
	ids, rest, err := x.ids.read(c, args.Count)
	if err != nil {
		return err
	}
	values, err := x.values(rest.item(0))
	if err != nil {
		return err
	}
	if len(values) != len(ids) {
		return fmt.Errorf("neardup: %d ids for %d values", len(ids), len(values))
	}
	return x.AddAll(ctx, func(yield func(ID, V) bool) {
		for i, id := range ids {
			if !yield(id, values[i]) {
				return
			}
		}
	})
}

func (x *index[ID, V]) search(ctx context.Context, c *call, emit func(*table) error) error {
	values, err := x.values(c.item(0))
	if err != nil {
		return err
	}
	found, err := x.SearchMany(ctx, values)
	if err != nil {
		return err
	}
	return emit(matchTable(x.ids, found...))
}

func (x *index[ID, V]) nearest(ctx context.Context, c *call, emit func(*table) error) error {
	var args struct{ N int }
	if err := c.into(&args); err != nil {
		return err
	}
	values, err := x.values(c.item(0))
	if err != nil {
		return err
	}
	if len(values) != 1 {
		return fmt.Errorf("neardup: %d values to look for at once", len(values))
	}
	found, err := x.Nearest(ctx, values[0], args.N)
	if err != nil {
		return err
	}
	return emit(matchTable(x.ids, found))
}

func (x *index[ID, V]) pairs(ctx context.Context, _ *call, emit func(*table) error) error {
	return emitPairs(x.ids, x.Pairs(ctx), emit)
}

func (x *index[ID, V]) groups(ctx context.Context, c *call, emit func(*table) error) error {
	var args struct{ Linkage string }
	if err := c.into(&args); err != nil {
		return err
	}
	by, err := linkageOf(args.Linkage)
	if err != nil {
		return err
	}
	groups, err := x.Groups(ctx, by)
	if err != nil {
		return err
	}
	return emitGroups(x.ids, groups, emit)
}

// linkageOf returns the linkage with a name.
func linkageOf(name string) (by neardup.Linkage, err error) {
	switch name {
	case "centre":
		return neardup.CentreLinkage, nil
	case "complete":
		return neardup.CompleteLinkage, nil
	case "single":
		return neardup.SingleLinkage, nil
	}
	return by, fmt.Errorf("neardup: linkage must be centre, complete or single, not %s", name)
}

// fingerprintsIn returns the fingerprints in an item.
func fingerprintsIn(item []byte) ([]neardup.Fingerprint64, error) {
	if len(item)%8 != 0 {
		return nil, fmt.Errorf("neardup: %d bytes are not fingerprints", len(item))
	}
	values := make([]neardup.Fingerprint64, len(item)/8)
	for i := range values {
		values[i] = neardup.Fingerprint64(binary.NativeEndian.Uint64(item[8*i:]))
	}
	return values, nil
}

// signatureIn returns the signature in an item.
func signatureIn(item []byte) neardup.Signature {
	s := make(neardup.Signature, len(item)/4)
	for i := range s {
		s[i] = binary.NativeEndian.Uint32(item[4*i:])
	}
	return s
}

// signaturesIn returns the signatures of so many values in an item.
func signaturesIn(item []byte, values int) ([]neardup.Signature, error) {
	if len(item)%(4*values) != 0 {
		return nil, fmt.Errorf("neardup: %d bytes are not signatures of %d values", len(item), values)
	}
	numbers := signatureIn(item)
	all := make([]neardup.Signature, len(numbers)/values)
	for i := range all {
		all[i] = numbers[i*values : (i+1)*values]
	}
	return all, nil
}

// indexArgs are the arguments of the functions that make an index.
type indexArgs struct {
	IDs        string
	Distance   int
	Similarity float64
	Values     int
	Bits       int
}

func makeIndex(c *call) (object, error) {
	var args indexArgs
	if err := c.into(&args); err != nil {
		return nil, err
	}
	if args.IDs == "str" {
		return fingerprintIndex(c.path(), args, strs{})
	}
	return fingerprintIndex(c.path(), args, ints{})
}

func fingerprintIndex[ID comparable](path string, args indexArgs, ids idType[ID]) (object, error) {
	var x *neardup.Index[ID, neardup.Fingerprint64]
	version, err := new(neardup.Fingerprinter).Version()
	if err == nil && path == "" {
		x, err = neardup.NewIndex[ID, neardup.Fingerprint64](args.Distance, neardup.IndexOptions{})
	} else if err == nil {
		x, err = neardup.OpenIndex[ID, neardup.Fingerprint64](path, args.Distance, neardup.IndexOptions{Version: version})
	}
	if err != nil {
		return nil, err
	}
	return &index[ID, neardup.Fingerprint64]{x, ids, fingerprintsIn}, nil
}

func makeSignatureIndex(c *call) (object, error) {
	var args indexArgs
	if err := c.into(&args); err != nil {
		return nil, err
	}
	if args.IDs == "str" {
		return signatureIndex(c.path(), args, strs{})
	}
	return signatureIndex(c.path(), args, ints{})
}

func signatureIndex[ID comparable](path string, args indexArgs, ids idType[ID]) (object, error) {
	var x *neardup.SignatureIndex[ID]
	version, err := (neardup.MinHash{Values: args.Values}).Version(new(neardup.Fingerprinter))
	o := neardup.SignatureIndexOptions{Values: args.Values, Bits: args.Bits}
	if err == nil && path == "" {
		x, err = neardup.NewSignatureIndex[ID](args.Similarity, o)
	} else if err == nil {
		o.Version = version
		x, err = neardup.OpenSignatureIndex[ID](path, args.Similarity, o)
	}
	if err != nil {
		return nil, err
	}
	return &index[ID, neardup.Signature]{x, ids, func(item []byte) ([]neardup.Signature, error) { return signaturesIn(item, args.Values) }}, nil
}
