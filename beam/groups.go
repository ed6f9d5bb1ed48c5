package neardupbeam

import (
	"bytes"
	"iter"
	"reflect"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/neardup/neardup"
)

// This file makes groups of pairs, and says which document of each is kept.
//
// Chains are the connected components. For the other linkages, the vertices and edges of each component go to one
// worker, which calls neardup.GroupPairs. Vertices are taken in the order of what to keep, so the result does not
// depend on the order in which they come.
//
// A vertex is a content in NearDuplicates, and a document in Groups. Its key says nothing of what is kept,
// so ranks go along with the members.

// Groups makes groups of a PCollection<Pair> between the documents of a PCollection<Profile>, as a
// PCollection<Member> that has every document of a group of two or more. Pairs may come from [Pairs] or
// from elsewhere; a pair with an id that no profile has is an error. It panics if the options do not fit
// together. A profile without Data may have pairs too: only its ID and Length count here.
func Groups(s beam.Scope, profiles, pairs beam.PCollection, o Options) beam.PCollection {
	set := o.parts()
	s = s.Scope("neardup.Groups")
	return groupsOf(s, beam.ParDo(s, profileRank, profiles), beam.ParDo(s, pairEdge, pairs), set)
}

// profileRank and pairEdge bring what a user has into the form that groupsOf takes from this package:
// members and edges.
func profileRank(p Profile) ([]byte, []byte) {
	return []byte(p.ID), rank{p.ID, p.Length}.encode(nil)
}

func pairEdge(p Pair) ([]byte, []byte) {
	return []byte(p.A), encoder(nil).text(p.B).value(p.Similarity, p.Distance)
}

// groupsOf returns the groups of members, vertex → rank, whose vertices are joined by edges. Components are
// found first for every linkage, because no other linkage joins what is not connected. They say which edges
// have to be on one worker.
func groupsOf(s beam.Scope, members, edges beam.PCollection, set settings) beam.PCollection {
	labels := componentsOf(s, edges, set.Rounds, starChunk)
	if set.Linkage != neardup.SingleLinkage {
		vertices := beam.ParDo(s, &componentVertexFn{settings: set}, beam.CoGroupByKey(s, labels, members))
		inside := beam.ParDo(s, componentEdges, beam.CoGroupByKey(s, labels, edges))
		labels = beam.ParDo(s, &linkFn{settings: set}, beam.CoGroupByKey(s, vertices, inside))
	}
	inGroups := beam.ParDo(s, labelMembers, beam.CoGroupByKey(s, members, labels))
	heads := beam.CombinePerKey(s, &headFn{settings: set}, inGroups)
	return beam.ParDo(s, nameMembers, beam.CoGroupByKey(s, heads, inGroups))
}

// componentVertexFn keys the vertices that have edges by component. The rank of a vertex is that of its
// document to keep. The others are in no group with another vertex, so linkFn need not see them.
type componentVertexFn struct{ settings }

func (fn *componentVertexFn) ProcessElement(vertex []byte, labels, members func(*[]byte) bool, emit func(root, vertex []byte)) error {
	var root []byte
	if !labels(&root) {
		return nil
	}
	var best rank
	n := 0
	for b := []byte(nil); members(&b); n++ {
		d := decoder{b: b}
		r := decodeRank(&d)
		if d.err != nil {
			return d.err
		}
		if n == 0 || r.compare(best, fn.KeepFirst) < 0 {
			best = r
		}
	}
	emit(root, best.encode(encoder(nil).bytes(vertex)))
	return nil
}

// componentEdges keys edges by component. Both ends of an edge are in one component, so the label of the
// first end is enough.
func componentEdges(a []byte, labels, edges func(*[]byte) bool, emit func(root, edge []byte)) {
	var root, edge []byte
	if !labels(&root) {
		return
	}
	for edges(&edge) {
		emit(root, append(encoder(nil).bytes(a), edge...))
	}
}

// linkFn groups the vertices of a component: vertex → vertex that represents its group. It has a whole
// component in memory; [neardup.GroupPairs] keeps all its pairs.
type linkFn struct{ settings }

func (fn *linkFn) ProcessElement(_ []byte, vertices, edges func(*[]byte) bool, emit func(vertex, root []byte)) error {
	type vertex struct {
		key []byte
		rank
	}
	var all []vertex
	for b := []byte(nil); vertices(&b); {
		d := decoder{b: b}
		all = append(all, vertex{d.bytes(), decodeRank(&d)})
		if d.err != nil {
			return d.err
		}
	}
	// Vertices get their numbers in the order of what to keep. So GroupPairs, which prefers small numbers,
	// needs no order of its own, and the result does not depend on the order of the values.
	slices.SortFunc(all, func(a, b vertex) int { return a.compare(b.rank, fn.KeepFirst) })
	at := make(map[string]int, len(all))
	for i, v := range all {
		at[string(v.key)] = i
	}
	var pairs []neardup.Pair[int]
	for b := []byte(nil); edges(&b); {
		d := decoder{b: b}
		i, j := at[string(d.bytes())], at[string(d.bytes())]
		pairs = append(pairs, neardup.Pair[int]{A: min(i, j), B: max(i, j), Similarity: d.float(), Distance: int(d.uint64())})
		if d.err != nil {
			return d.err
		}
	}
	roots, err := neardup.GroupPairs(len(all), certain(pairs), fn.Linkage, nil)
	if err != nil {
		return err
	}
	for i, root := range roots {
		emit(all[i].key, all[root].key)
	}
	return nil
}

// certain yields pairs that have no errors.
func certain(pairs []neardup.Pair[int]) iter.Seq2[neardup.Pair[int], error] {
	return func(yield func(neardup.Pair[int], error) bool) {
		for _, p := range pairs {
			if !yield(p, nil) {
				return
			}
		}
	}
}

// labelMembers keys members by the vertex that represents their group, and says whether they are of that
// vertex. A vertex without a label has no edges, and represents itself. One without members is an end of a
// pair that no profile has.
func labelMembers(vertex []byte, members, labels func(*[]byte) bool, emit func(root, member []byte)) error {
	root := vertex
	labels(&root)
	isRoot := byte(0)
	if bytes.Equal(root, vertex) {
		isRoot = 1
	}
	n := 0
	for b := []byte(nil); members(&b); n++ {
		emit(root, append(encoder{isRoot}, b...))
	}
	if n == 0 {
		return errUnknown(vertex)
	}
	return nil
}

// A head is what is known of a group: how many members it has, and which one is kept.
type head struct {
	n      int
	isRoot bool // whether keep is of the vertex that represents the group
	keep   rank
}

func encodeHead(h head) []byte {
	e := encoder{0}
	if h.isRoot {
		e[0] = 1
	}
	return h.keep.encode(e.int(h.n))
}

func decodeHead(b []byte) (h head, err error) {
	if len(b) == 0 {
		return h, errTruncated
	}
	d := decoder{b: b[1:]}
	h.isRoot, h.n = b[0] == 1, d.int()
	h.keep = decodeRank(&d)
	return h, d.err
}

// headFn combines the members of a group to its head. The vertex that represents a group is kept, whatever
// the ranks of the others are; chains have none. Heads of any parts of a group can be merged in any order,
// so a runner may combine before the shuffle.
type headFn struct{ settings }

func (fn *headFn) CreateAccumulator() head { return head{} }

func (fn *headFn) AddInput(h head, member []byte) (head, error) {
	if len(member) == 0 {
		return h, errTruncated
	}
	d := decoder{b: member[1:]}
	r := decodeRank(&d)
	return fn.MergeAccumulators(h, head{1, member[0] == 1, r}), d.err
}

func (fn *headFn) MergeAccumulators(a, b head) head {
	// An empty head has no rank to compare.
	if a.n == 0 || b.n == 0 {
		if a.n == 0 {
			return b
		}
		return a
	}
	n := a.n + b.n
	onlyRoots := fn.Linkage != neardup.SingleLinkage && a.isRoot != b.isRoot
	if onlyRoots && b.isRoot || !onlyRoots && b.keep.compare(a.keep, fn.KeepFirst) < 0 {
		a = b
	}
	a.n = n
	return a
}

func (fn *headFn) ExtractOutput(h head) []byte { return encodeHead(h) }

// nameMembers emits the members of groups of two or more. Only here is it known whether a group has two
// members: a content with several documents and no edges is a group too.
func nameMembers(_ []byte, heads, members func(*[]byte) bool, emit func(Member)) error {
	var b []byte
	if !heads(&b) {
		return nil
	}
	h, err := decodeHead(b)
	if err != nil || h.n < 2 {
		return err
	}
	for members(&b) {
		d := decoder{b: b[1:]}
		emit(Member{ID: decodeRank(&d).id, Keep: h.keep.id})
		if d.err != nil {
			return d.err
		}
	}
	return nil
}

func init() {
	register.Function1x2(profileRank)
	register.Function1x2(pairEdge)
	register4x1((*componentVertexFn).ProcessElement)
	register.Function4x0(componentEdges)
	register4x1((*linkFn).ProcessElement)
	register.Function4x1(labelMembers)
	register.Combiner3[head, []byte, []byte](&headFn{})
	register.Function4x1(nameMembers)
	register.Emitter1[Member]()
	beam.RegisterCoder(reflect.TypeFor[head](), encodeHead, decodeHead)
}
