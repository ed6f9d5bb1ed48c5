package service

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/service/client"
)

// This file has collections of 64-bit fingerprints and of MinHash signatures in files. They keep no texts: a document takes some tens or
// hundreds of bytes, and less is found.
//
// What stands for a text depends on the Fingerprinter and its version. The index keeps the version, and
// does not open with another one, since their values could not be compared. stored.go uses the same kinds.

// An index is what neardup.Index and neardup.SignatureIndex have in common. V is what stands for a text.
type index[V any] interface {
	Add(id string, v V) error
	Delete(id string) (bool, error)
	DeleteBefore(t time.Time) (int, error)
	Get(id string) (V, bool, error)
	Search(ctx context.Context, v V) iter.Seq2[neardup.Match[string], error]
	Groups(ctx context.Context, by neardup.Linkage) ([]neardup.Group[string], error)
	Len() int
	Sync() error
	Close() error
}

// A kind says what stands for texts.
type kind[V any] struct {
	version string
	of      func(text string) V
	match   func(m neardup.Match[string]) client.Match
	stored  func(id string, v V) client.Stored
	empty   func(v V) bool // whether a value is that of a text without words, which is similar to nothing
}

// An indexed is a finder by an index.
type indexed[V any] struct {
	index[V]
	kind[V]
}

// fingerprints are those of 64 bits.
func fingerprints() (kind[neardup.Fingerprint64], error) {
	f := neardup.Fingerprinter{}
	version, err := f.Version()
	return kind[neardup.Fingerprint64]{version, func(text string) neardup.Fingerprint64 { return f.Sum64(neardup.Text(text)) }, byDistance, fingerprinted, func(fp neardup.Fingerprint64) bool { return fp == 0 }}, err
}

// openFingerprints opens an index of fingerprints. Its error is a neardup.ErrVersion if the files were made
// by another version of the features.
func openFingerprints(path string, distance int) (finder, error) {
	k, err := fingerprints()
	if err != nil {
		return nil, err
	}
	ix, err := neardup.OpenIndex[string, neardup.Fingerprint64](path, distance, neardup.IndexOptions{Version: k.version})
	if err != nil {
		return nil, err
	}
	return &indexed[neardup.Fingerprint64]{ix, k}, nil
}

// byDistance sets Similarity too, by which search sorts all kinds: it falls as the distance grows. It is no
// Jaccard similarity.
func byDistance(m neardup.Match[string]) client.Match {
	return client.Match{ID: m.ID, Distance: &m.Distance, Similarity: 1 - float64(m.Distance)/64}
}

func fingerprinted(id string, fp neardup.Fingerprint64) client.Stored {
	return client.Stored{ID: id, Fingerprint: fmt.Sprintf("%016x", uint64(fp))}
}

// signatureBits is how many bits of each value of a signature are kept. 128 values of 8 bits are the 128
// bytes of a document that the description of the settings states.
const signatureBits = 8

// signatures are those of 128 values.
func signatures() (kind[neardup.Signature], error) {
	f, m := neardup.Fingerprinter{}, neardup.MinHash{}
	version, err := m.Version(&f)
	return kind[neardup.Signature]{
		version,
		func(text string) neardup.Signature { return f.Sign(neardup.Text(text), m) },
		func(m neardup.Match[string]) client.Match { return client.Match{ID: m.ID, Similarity: m.Similarity} },
		func(id string, _ neardup.Signature) client.Stored { return client.Stored{ID: id} },
		func(neardup.Signature) bool { return false }, // the index knows
	}, err
}

// openSignatures opens an index of signatures.
func openSignatures(path string, similarity float64) (finder, error) {
	k, err := signatures()
	if err != nil {
		return nil, err
	}
	ix, err := neardup.OpenSignatureIndex[string](path, similarity, neardup.SignatureIndexOptions{Version: k.version, Bits: signatureBits})
	if err != nil {
		return nil, err
	}
	return &indexed[neardup.Signature]{ix, k}, nil
}

// search sorts what the index yields, which is in any order. It keeps at most 2·limit+64 matches while it
// reads, so its memory does not depend on how many equal texts there are. Equally similar ones are in the
// order of their ids, so that an answer can be repeated.
func (x *indexed[V]) search(ctx context.Context, text string, limit int) (all []client.Match, err error) {
	v := x.of(text)
	cut := func() {
		slices.SortFunc(all, func(a, b client.Match) int {
			return cmp.Or(cmp.Compare(b.Similarity, a.Similarity), cmp.Compare(a.ID, b.ID))
		})
		all = all[:min(len(all), limit+1)]
	}
	if x.empty(v) {
		return nil, nil
	}
	for m, err := range x.Search(ctx, v) {
		if err != nil {
			return nil, err
		}
		if all = append(all, x.match(m)); len(all) > 2*limit+64 {
			cut()
		}
	}
	cut()
	return all, nil
}

func (x *indexed[V]) put(_ context.Context, id, text string) (bool, error) {
	err := x.Add(id, x.of(text))
	return err == nil, err
}

func (x *indexed[V]) delete(_ context.Context, id string) (bool, error) { return x.Delete(id) }

func (x *indexed[V]) get(_ context.Context, id string) (client.Stored, bool, error) {
	v, ok, err := x.Get(id)
	if !ok || err != nil {
		return client.Stored{}, false, err
	}
	return x.stored(id, v), true, nil
}

func (x *indexed[V]) expire(_ context.Context, before time.Time) (int, error) {
	return x.DeleteBefore(before)
}

// groups are chains of pairs, so two members of a group need not be near each other.
func (x *indexed[V]) groups(ctx context.Context) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		groups, err := x.Groups(ctx, neardup.SingleLinkage)
		for _, g := range groups {
			if !yield(g.Members, nil) {
				return
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// explain has nothing to show: the index keeps no text and no features.
func (x *indexed[V]) explain(context.Context, string, string) (client.Pair, error) {
	return client.Pair{}, errUnable
}

func (x *indexed[V]) len(context.Context) (int, error) { return x.Len(), nil }
func (x *indexed[V]) sync() error                      { return x.Sync() }
func (x *indexed[V]) close() error                     { return x.Close() }
func (x *indexed[V]) err(context.Context) error        { _, _, err := x.Get(""); return err }
