package neardupbeam

import (
	"bytes"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/neardup/neardup"
)

// This file finds connected components (Kiveris et al., Connected components in MapReduce and beyond, 2014). Two
// steps take turns, each on all neighbours of a vertex at once:
//
//	large star  links every larger neighbour to the smallest vertex of the neighbourhood
//	small star  links every smaller neighbour, and the vertex itself, to the smallest one
//
// Neither changes the components nor adds edges, and a round of both about halves the distances. In the end
// every component is a star around its smallest vertex.
//
// The number of rounds is part of a pipeline, so it cannot depend on the data. After the rounds, a vertex
// takes its smallest neighbour as its label. Where a component is not a star yet, vertices have edges between
// different labels. Only these edges go to one worker, which joins the labels. So the result is right after any
// number of rounds; usually there is no such edge.
//
// A worker reads the neighbours of a vertex once, some at a time, since a vertex may have millions.

// starChunk is how many neighbours of a vertex are in memory at a time.
const starChunk = 1 << 16

// componentsOf returns for each vertex of edges the smallest vertex of its component: vertex → root.
// Vertices without edges are not among them. Any rounds and any chunk give the same result; chunk is a
// parameter for tests.
func componentsOf(s beam.Scope, edges beam.PCollection, rounds, chunk int) (labels beam.PCollection) {
	s = s.Scope("neardup.components")
	edges = beam.ParDo(s, bareEdge, edges)
	for range rounds {
		// A large star needs all neighbours of a vertex, so each edge goes to both ends. A small star needs
		// the smaller ones only, and edges have the larger end first.
		edges = beam.ParDo(s, &starFn{true, chunk}, beam.GroupByKey(s, beam.ParDo(s, bothWays, edges)))
		edges = beam.ParDo(s, &starFn{false, chunk}, beam.GroupByKey(s, edges))
	}
	first, rest := beam.ParDo2(s, &labelFn{chunk}, beam.GroupByKey(s, beam.ParDo(s, bothWays, edges)))
	joined := beam.ParDo(s, joinLabels, beam.GroupByKey(s, rest))
	return beam.ParDo(s, lastLabels, beam.CoGroupByKey(s, first, joined))
}

// bareEdge forgets how near the ends of an edge are, and puts the larger one first, as all edges between
// the steps have it.
func bareEdge(a, edge []byte) ([]byte, []byte, error) {
	d := decoder{b: edge}
	b := d.bytes()
	if bytes.Compare(a, b) < 0 {
		a, b = b, a
	}
	return a, b, d.err
}

// bothWays emits an edge for each of its ends.
func bothWays(a, b []byte, emit func(a, b []byte)) {
	emit(a, b)
	emit(b, a)
}

// eachChunk calls use with the smallest of u and the neighbours read so far, and the next neighbours. The first
// call of use has the final smallest vertex, unless there are more than chunk neighbours. If a later chunk has a
// smaller one, eachChunk calls link with it and the last one, so that no connection is lost.
func eachChunk(u []byte, neighbours func(*[]byte) bool, chunk int, use func(m []byte, some [][]byte), link func(larger, smaller []byte)) {
	m := u
	for n, more := 0, true; more; n++ {
		var some [][]byte
		least := m
		for v := []byte(nil); len(some) < chunk; {
			if more = neighbours(&v); !more {
				break
			}
			some = append(some, v)
			if bytes.Compare(v, least) < 0 {
				least = v
			}
		}
		if n > 0 && !bytes.Equal(least, m) {
			link(m, least)
		}
		m = least
		use(m, some)
	}
}

// starFn is a step of all vertices: a large star or a small one.
type starFn struct {
	Large bool
	Chunk int
}

func (fn *starFn) ProcessElement(u []byte, neighbours func(*[]byte) bool, emit func(larger, smaller []byte)) {
	linked := false
	eachChunk(u, neighbours, fn.Chunk, func(m []byte, some [][]byte) {
		last := m // edges often come several times, and often one after the other
		for _, v := range some {
			isLarger := bytes.Compare(v, u) > 0
			if isLarger == fn.Large && !bytes.Equal(v, last) {
				emit(v, m)
				last = v
			}
		}
		// The vertex itself moves to the smallest one too, or its component would lose it.
		if !fn.Large && !linked {
			emit(u, m)
			linked = true
		}
	}, emit)
}

// labelFn emits the label of a vertex u, and its edges between different labels. Where a component is a
// star, no edge is left, so usually nothing goes to joinLabels.
type labelFn struct{ Chunk int }

func (fn *labelFn) ProcessElement(u []byte, neighbours func(*[]byte) bool, label func(label, vertex []byte), rest func(one int, edge []byte)) {
	var first []byte
	isLabel := false // whether another vertex may have the label u
	eachChunk(u, neighbours, fn.Chunk, func(m []byte, some [][]byte) {
		if first == nil {
			first = m
			label(first, u)
		}
		last := first
		for _, v := range some {
			switch {
			case bytes.Compare(v, u) > 0:
				isLabel = true
			case !bytes.Equal(v, first) && !bytes.Equal(v, last):
				rest(1, encoder(nil).pair(first, v))
				last = v
			}
		}
	}, func(_, _ []byte) {})
	if isLabel && !bytes.Equal(u, first) {
		rest(1, encoder(nil).pair(first, u))
	}
}

// joinLabels emits the root of every label of the edges, on one worker. It takes memory for the edges that
// are left. Labels are sorted, so the smallest one of a component is the root, as it is after enough
// rounds.
func joinLabels(_ int, edges func(*[]byte) bool, emit func(label, root []byte)) error {
	var ends [][2]string
	var names []string
	for b := []byte(nil); edges(&b); {
		d := decoder{b: b}
		e := [2]string{d.text(), d.text()}
		if d.err != nil {
			return d.err
		}
		ends = append(ends, e)
		names = append(names, e[0], e[1])
	}
	slices.Sort(names)
	names = slices.Compact(names)
	number := func(name string) int {
		i, _ := slices.BinarySearch(names, name)
		return i
	}
	of, err := neardup.GroupPairs(len(names), func(yield func(neardup.Pair[int], error) bool) {
		for _, e := range ends {
			if !yield(neardup.Pair[int]{A: number(e[0]), B: number(e[1])}, nil) {
				return
			}
		}
	}, neardup.SingleLinkage, nil)
	if err != nil {
		return err
	}
	for i, root := range of {
		if i != root {
			emit([]byte(names[i]), []byte(names[root]))
		}
	}
	return nil
}

// lastLabels emits the root of every vertex. Most labels are final, and have no other root.
func lastLabels(label []byte, vertices, roots func(*[]byte) bool, emit func(vertex, root []byte)) {
	root := label
	roots(&root)
	for v := []byte(nil); vertices(&v); {
		emit(v, root)
	}
}

func init() {
	register.Function2x3(bareEdge)
	register.Function3x0(bothWays)
	register3x0((*starFn).ProcessElement)
	register4x0((*labelFn).ProcessElement)
	register.Function3x1(joinLabels)
	register.Function4x0(lastLabels)
	register.Emitter2[int, []byte]()
}
