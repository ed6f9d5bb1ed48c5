package graph

import (
	"iter"
	"slices"

	"github.com/neardup/neardup/internal/parallel"
)

// This file groups each connected component by itself, on all processors. Groups never reach from one component into another.

// Components are the connected components of a graph with two vertices or more, in the order of their smallest vertices.
type Components struct {
	of       []int // of each vertex the component, or −1
	vertices []int // by component, ascending in each
	starts   []int // where those of a component begin; one more at the end
}

// ComponentsOf returns the components of a forest.
func ComponentsOf(f Forest) *Components {
	roots := f.Roots()
	size := make([]int, len(roots))
	for _, root := range roots {
		size[root]++
	}
	c := &Components{of: slices.Repeat([]int{-1}, len(roots)), starts: []int{0}}
	for i, root := range roots {
		if size[root] < 2 {
			continue
		}
		if i == root {
			c.of[i] = len(c.starts) - 1
			c.starts = append(c.starts, c.starts[c.of[i]]+size[root])
		}
		c.of[i] = c.of[root]
	}
	c.vertices = c.sorted(len(roots), c.starts, func(i int) int { return c.of[i] })
	return c
}

// sorted returns the numbers below n by their components, ascending in each. starts says where those of each begin.
func (c *Components) sorted(n int, starts []int, componentOf func(i int) int) []int {
	next, all := slices.Clone(starts), make([]int, starts[len(starts)-1])
	for i := range n {
		if k := componentOf(i); k >= 0 {
			all[next[k]] = i
			next[k]++
		}
	}
	return all
}

// Len returns how many components there are.
func (c *Components) Len() int { return len(c.starts) - 1 }

// Vertices returns the vertices of a component, ascending.
func (c *Components) Vertices(k int) []int { return c.vertices[c.starts[k]:c.starts[k+1]] }

// Of returns the component of a vertex, or −1 if it is alone.
func (c *Components) Of(i int) int { return c.of[i] }

// Sort returns the numbers of some things, those that belong to one component together and ascending, and where those of each component begin, with the
// end of the last one. of returns the component of a thing, or −1.
func (c *Components) Sort(n int, of func(i int) int) (sorted, starts []int) {
	starts = make([]int, c.Len()+1)
	for i := range n {
		if k := of(i); k >= 0 {
			starts[k+1]++
		}
	}
	for k := range c.Len() {
		starts[k+1] += starts[k]
	}
	return c.sorted(n, starts, of), starts
}

// ByComponent returns what group returns for a graph, if that is the same for each connected component alone: [Centres] and [Complete] are such.
// Several goroutines call group and before. A vertex without pairs stands for itself.
func ByComponent(n int, pairs iter.Seq[Pair], before func(i, j int) bool, group func(n int, pairs iter.Seq[Pair], before func(i, j int) bool) []int) []int {
	f := NewForest(n)
	var all []Pair
	for p := range pairs {
		f.Join(p.A, p.B)
		all = append(all, p)
	}
	c := ComponentsOf(f)
	byPair, starts := c.Sort(len(all), func(k int) int { return c.of[all[k].A] })
	of, local := []int(f), make([]int, n) // of is right for vertices alone
	parallel.Chunks(c.Len(), func(_, from, to int) {
		var own []Pair
		for k := from; k < to; k++ {
			vertices := c.Vertices(k)
			for m, i := range vertices {
				local[i] = m
			}
			own = own[:0]
			for _, p := range byPair[starts[k]:starts[k+1]] {
				own = append(own, Pair{local[all[p].A], local[all[p].B], all[p].Similarity})
			}
			var prior func(i, j int) bool
			if before != nil {
				prior = func(i, j int) bool { return before(vertices[i], vertices[j]) }
			}
			for m, root := range group(len(vertices), slices.Values(own), prior) {
				of[vertices[m]] = vertices[root]
			}
		}
	})
	return of
}
