package neardupbeam

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup"
	"github.com/neardup/neardup/dedup/shard"
)

// This file has the method Auto, which decides as package dedup does. What that says of two documents depends on
// those that are connected with them (package shard). So the documents of one component go to one worker, which asks a
// Deduplicator that has nobody else.
//
//	contents    digest → signature, one for all documents with equal contents
//	buckets     a band → digests, with what a bucket has to know of them
//	links       two digests that can matter to each other
//	components  digest → the smallest digest that is connected with it
//	answers     a component → its documents; a Deduplicator says the rest
//
// Most documents of most collections are linked with nobody. Their texts go no further than to where the components are.
//
// A digest is the key of a content. Links and labels name contents by it, so no text goes through the steps
// that find the components.

// autoOf finds the near-duplicates of documents. What it returns has nothing compared yet: groups and pairs
// do that, each by itself.
func autoOf(s beam.Scope, documents beam.PCollection, set settings) (of answering, notes beam.PCollection) {
	s = s.Scope("neardup.auto")
	signatures, byDigest, without := beam.ParDo3(s.Scope("sign"), &signFn{settings: set}, documents)
	contents := beam.CombinePerKey(s.Scope("contents"), anyOf, signatures)
	buckets := beam.GroupByKey(s, beam.ParDo(s.Scope("buckets"), spreadSignature, contents))
	links, crowds := beam.ParDo2(s.Scope("link"), linkBucket, buckets)
	labels := componentsOf(s, links, set.Rounds, starChunk)
	inComponents := beam.ParDo(s.Scope("gather"), gatherComponents, beam.CoGroupByKey(s, byDigest, labels))
	return answering{beam.GroupByKey(s.Scope("components"), inComponents), set}, beam.Flatten(s, without, crowds)
}

// signFn makes signatures. It emits them and the documents by digest. The signer is made by Setup, since
// only exported fields of a DoFn go to the workers.
type signFn struct {
	settings
	signer *shard.Signer
}

func (fn *signFn) Setup() error {
	o, err := fn.dedup()
	if err == nil {
		fn.signer, err = shard.NewSigner(o)
	}
	return err
}

func (fn *signFn) ProcessElement(d Document, signed, byDigest func(digest, value []byte), note func(Note)) error {
	sig, err := fn.signer.Sign(neardup.Text(d.Text))
	if err != nil {
		return err
	}
	if sig.IsEmpty() {
		// A Deduplicator would find nothing for it either, so it takes no part in the rest.
		note(Note{NoFeatures, d.ID, "the text has nothing to compare, so it is kept, and has no near-duplicates"})
		return nil
	}
	digest := binary.BigEndian.AppendUint64(nil, sig.Digest)
	b, err := sig.AppendBinary(nil)
	if err != nil {
		return err
	}
	signed(digest, b)
	// Raw is not needed to compare; NearDuplicates has it from the documents themselves.
	byDigest(digest, encodeDocument(Document{ID: d.ID, Text: d.Text}))
	return nil
}

// anyOf returns one of two equal signatures. Contents with equal digests have equal signatures, so a runner
// may combine them in any order, and before the shuffle.
func anyOf(a, _ []byte) []byte { return a }

// spreadSignature puts a content into its buckets. A bucket gets the digest and the entry only, not the
// signature.
func spreadSignature(digest, signature []byte, emit func(bucket, member []byte)) error {
	var sig shard.Signature
	if _, err := sig.Decode(signature); err != nil {
		return err
	}
	// EachBucket cannot be stopped, so the first error is remembered.
	var failed error
	sig.EachBucket(func(b shard.Bucket, e shard.Entry) {
		member, err := e.AppendBinary(slices.Clip(digest))
		failed = cmp.Or(failed, err)
		emit(binary.BigEndian.AppendUint64(nil, uint64(b)), member)
	})
	return failed
}

const digestBytes = 8

var (
	linkCount      = beam.NewCounter("neardup", "links")
	crowdCount     = beam.NewCounter("neardup", "crowds")
	componentSizes = beam.NewDistribution("neardup", "documents of a component")
)

// linkBucket links the contents of a bucket. Up to shard.MostEntries of them are compared, each with each,
// as the Deduplicator would do. If there are more, all of them matter to each other: each is linked with
// the first one, so a crowd gives as many links as it has contents, and no more than MostEntries of it are
// in memory. Which one comes first depends on the runner, but the component does not.
func linkBucket(ctx context.Context, bucket []byte, members func(*[]byte) bool, link func(a, edge []byte), note func(Note)) error {
	if len(bucket) != 8 {
		return errTruncated
	}
	var digests [][]byte
	var entries []shard.Entry
	n := 0
	join := func(a, b []byte) {
		linkCount.Inc(ctx, 1)
		link(a, encoder(nil).bytes(b))
	}
	for b := []byte(nil); members(&b); n++ {
		if len(b) != digestBytes+shard.EntryBytes {
			return errTruncated
		}
		switch {
		case n < shard.MostEntries:
			var e shard.Entry
			if err := e.UnmarshalBinary(b[digestBytes:]); err != nil {
				return err
			}
			digests, entries = append(digests, slices.Clone(b[:digestBytes])), append(entries, e)
		default:
			join(digests[0], b[:digestBytes])
		}
	}
	if n <= shard.MostEntries {
		shard.Bucket(binary.BigEndian.Uint64(bucket)).Link(entries, func(i, j int) { join(digests[i], digests[j]) })
		return nil
	}
	for _, d := range digests[1:] {
		join(digests[0], d)
	}
	crowdCount.Inc(ctx, 1)
	note(Note{HotBucket, fmt.Sprintf("band, key %x", bucket), fmt.Sprintf("%d different contents share it; one worker compares them as a crowd, as in package dedup", n)})
	return nil
}

// gatherComponents emits the documents of a digest by component, unless they are one that nobody is linked
// with. Documents with equal contents have one digest and no link, and need a component too. So the first
// one waits until there is a second one.
func gatherComponents(digest []byte, documents, labels func(*[]byte) bool, emit func(root, document []byte)) {
	root := digest
	isLinked := labels(&root)
	var first []byte
	n := 0
	for d := []byte(nil); documents(&d); n++ {
		if n == 0 && !isLinked {
			first = slices.Clone(d)
			continue
		}
		if n == 1 && !isLinked {
			emit(root, first)
		}
		emit(root, d)
	}
}

// answering is components of documents, which can be asked several things. Each question makes the
// Deduplicators anew, because a pipeline cannot keep them between two steps.
type answering struct {
	components beam.PCollection // root → documents
	set        settings
}

// groups returns the members of groups, and the families.
func (a answering) groups(s beam.Scope) (groups, families beam.PCollection) {
	return beam.ParDo2(s.Scope("neardup.compare"), &groupFn{a.set}, a.components)
}

// pairs returns the pairs.
func (a answering) pairs(s beam.Scope) beam.PCollection {
	return beam.ParDo(s.Scope("neardup.compare"), &pairFn{a.set}, a.components)
}

// dedup returns the options of a Deduplicator.
func (s *settings) dedup() (dedup.Options, error) {
	f, err := s.fingerprinter()
	if err != nil {
		return dedup.Options{}, err
	}
	return dedup.Options{Fingerprinter: *f, Similarity: s.Similarity, Probability: s.Probability, Bias: s.Bias, Kinds: s.Kinds, Memory: s.Memory}, nil
}

// component returns a Deduplicator with the documents of a component, by numbers, and their ids. All of
// them are in one process. What does not fit into Memory goes to temporary files.
func (s *settings) component(ctx context.Context, documents func(*[]byte) bool) (d *dedup.Deduplicator[int], ids []string, err error) {
	o, err := s.dedup()
	if err != nil {
		return nil, nil, err
	}
	if d, err = dedup.New[int](o); err != nil {
		return nil, nil, err
	}
	var failed error
	err = d.AddAll(ctx, func(yield func(int, neardup.Document) bool) {
		for b := []byte(nil); documents(&b); {
			var doc Document
			if doc, failed = decodeDocument(b); failed != nil {
				return
			}
			ids = append(ids, doc.ID)
			if !yield(len(ids)-1, neardup.Text(doc.Text)) {
				return
			}
		}
	})
	componentSizes.Update(ctx, int64(len(ids)))
	return d, ids, cmp.Or(failed, err)
}

// groupFn groups the documents of a component. Groups and families come from one Deduplicator, so its
// documents are compared once for both.
type groupFn struct{ settings }

func (fn *groupFn) ProcessElement(ctx context.Context, _ []byte, documents func(*[]byte) bool, member func(Member), family func(Family)) error {
	d, ids, err := fn.component(ctx, documents)
	if err != nil {
		return err
	}
	// Documents come in any order, so the ids decide where the order would.
	groups, err := d.Groups(ctx, dedup.GroupOptions[int]{Linkage: fn.Linkage, Prefer: func(a, b dedup.Entry[int]) bool {
		return rank{ids[a.ID], a.Length}.compare(rank{ids[b.ID], b.Length}, fn.KeepFirst) < 0
	}})
	if err != nil {
		return err
	}
	for _, g := range groups {
		for _, m := range g.Members {
			member(Member{ID: ids[m], Keep: ids[g.Keep]})
		}
	}
	// This costs little after Groups, which has found the pairs.
	families, err := d.Families(ctx)
	for _, f := range families {
		family(familyOf(f, ids))
	}
	return err
}

// familyOf returns a family with its members by their ids. The members are sorted, since a Deduplicator has
// them in the order in which they came.
func familyOf(f dedup.Family[int], ids []string) Family {
	order := make([]int, len(f.Members))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return strings.Compare(ids[f.Members[i]], ids[f.Members[j]]) })
	of := Family{Form: f.Form}
	for _, i := range order {
		of.Members = append(of.Members, ids[f.Members[i]])
		if len(f.Filled) > 0 {
			of.Filled = append(of.Filled, f.Filled[i])
		}
	}
	return of
}

// pairFn finds the pairs of a component. It yields the same pairs that groupFn has used, found once more.
type pairFn struct{ settings }

func (fn *pairFn) ProcessElement(ctx context.Context, _ []byte, documents func(*[]byte) bool, emit func(Pair)) error {
	d, ids, err := fn.component(ctx, documents)
	if err != nil {
		return err
	}
	for p, err := range d.Pairs(ctx) {
		if err != nil {
			return err
		}
		a, b := ids[p.A], ids[p.B]
		emit(Pair{A: min(a, b), B: max(a, b), Similarity: p.Similarity, Probability: p.Probability, Kind: p.Kind})
	}
	return nil
}

// checkAuto returns an error unless the settings are right for the method Auto. It asks package dedup,
// which knows what is allowed.
func (s *settings) checkAuto() error {
	o, err := s.dedup()
	if err != nil {
		return err
	}
	_, err = dedup.New[int](o)
	return err
}

func init() {
	register4x1((*signFn).ProcessElement)
	register.Function2x1(anyOf)
	register.Function3x1(spreadSignature)
	register.Function5x1(linkBucket)
	register.Function4x0(gatherComponents)
	register5x1((*groupFn).ProcessElement)
	register4x1((*pairFn).ProcessElement)
	register.Emitter1[Family]()
}
