package neardupbeam

import (
	"errors"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
)

// This file has the whole way from documents to a cleaned collection.
//
// The texts go to where they are compared, or only their profiles do, and meet the results again by id at
// the end. So each text goes through one shuffle that says whether it is kept, whatever the method.

// Found is what [NearDuplicates] returns.
type Found struct {
	// Kept is a PCollection<Document> of one document of each group, and of all documents in no group.
	Kept beam.PCollection

	// Groups is a PCollection<Member> of all documents in groups of two or more.
	Groups beam.PCollection

	// Families is a PCollection<Family> of documents of one form, with Auto; otherwise it is the zero value.
	Families beam.PCollection

	// Notes is a PCollection<Note> of what a reader of the results should know.
	Notes beam.PCollection

	// These are for Pairs, which adds its steps to the pipeline only when it is called.
	set                      settings
	contents, members, edges beam.PCollection
	auto                     answering
}

// NearDuplicates finds the near-duplicates of a PCollection<Document>. It groups contents, and equal documents join the group
// of their content, as in package dedup; with [neardup.CompleteLinkage], [Groups] of all pairs may break ties between equally
// near documents differently. It panics if the options do not fit together (see [Options.Check]), or
// if the documents come from an unbounded source.
func NearDuplicates(s beam.Scope, documents beam.PCollection, o Options) Found {
	f := Found{set: o.must()}
	if isUnbounded(documents) {
		panic(errors.New("neardupbeam: the source of the documents is unbounded, but groups need all documents; for a stream, use a dedup.Deduplicator"))
	}
	s = s.Scope("neardup.NearDuplicates")
	var notes beam.PCollection
	if f.set.Method == Auto {
		f.auto, notes = autoOf(s, documents, f.set)
		f.Groups, f.Families = f.auto.groups(s)
	} else {
		profiles, without := Fingerprint(s, documents, o)
		f.contents, f.members = contentsOf(s, profiles, f.set)
		edges, hot := edgesOf(s, f.contents, f.set)
		f.edges, f.Groups = edges, groupsOf(s, f.members, edges, f.set)
		notes = beam.Flatten(s, without, hot)
	}
	byID := beam.ParDo(s, documentByID, documents)
	kept, repeated := beam.ParDo2(s, keepDocuments, beam.CoGroupByKey(s, byID, beam.ParDo(s, memberByID, f.Groups)))
	f.Kept, f.Notes = kept, beam.Flatten(s, notes, repeated)
	return f
}

// isUnbounded reports whether a collection comes from an unbounded source. The SDK knows, but tells nobody:
// a collection is its node of the graph. Should a later SDK store it elsewhere, this reports false, and
// TestUnbounded fails.
func isUnbounded(c beam.PCollection) bool {
	v := reflect.ValueOf(c)
	if v.NumField() == 0 || v.Field(0).Type() != reflect.TypeFor[*graph.Node]() || v.Field(0).IsNil() {
		return false
	}
	return !(*graph.Node)(v.Field(0).UnsafePointer()).Bounded()
}

// Pairs returns the pairs of near-duplicates, like the function [Pairs]. It costs only what it takes to list them, but
// with Auto the documents are compared once more.
func (f Found) Pairs(s beam.Scope) beam.PCollection {
	if f.set.Method == Auto {
		return f.auto.pairs(s)
	}
	return spell(s.Scope("neardup.Pairs"), f.members, f.edges, f.set)
}

// documentByID and memberByID make the keys of the last join. Repeated ids meet there, so that is where
// they are noted.
func documentByID(d Document) ([]byte, []byte) { return []byte(d.ID), encodeDocument(d) }

func memberByID(m Member) ([]byte, []byte) { return []byte(m.ID), []byte(m.Keep) }

func init() {
	register.Function1x2(documentByID)
	register.Function1x2(memberByID)
	register.Function5x1(keepDocuments)
	register.Emitter1[Document]()
}
