package graph

import "sync/atomic"

// A Forest has for each vertex one of its component, the smallest at the root.
type Forest []int

func NewForest(n int) Forest {
	f := make(Forest, n)
	for i := range f {
		f[i] = i
	}
	return f
}

// Find returns the smallest vertex of the component of i.
func (f Forest) Find(i int) int {
	for f[i] != i {
		f[i] = f[f[i]]
		i = f[i]
	}
	return i
}

func (f Forest) Join(a, b int) {
	i, j := f.Find(a), f.Find(b)
	f[max(i, j)] = min(i, j)
}

// Roots makes the Forest the smallest vertex of each component.
func (f Forest) Roots() []int {
	for i := range f {
		f[i] = f.Find(i)
	}
	return f
}

// A Shared is a Forest that any number of goroutines may ask Same while one calls Join.
type Shared struct {
	label []atomic.Uint32 // equal in one component
	next  []uint32        // the members of a component are a ring
	size  []uint32        // by label
}

// NewShared returns n vertices, each a component of its own.
func NewShared(n int) *Shared {
	s := &Shared{make([]atomic.Uint32, n), make([]uint32, n), make([]uint32, n)}
	for i := range n {
		s.label[i].Store(uint32(i))
		s.next[i], s.size[i] = uint32(i), 1
	}
	return s
}

// Same reports whether two vertices are known to be in one component. While Join is at work it may
// return false for two that have just been joined, but never true for others.
func (s *Shared) Same(a, b int) bool { return s.label[a].Load() == s.label[b].Load() }

// Join makes one component of those of two vertices. The smaller one takes the label of the larger,
// so all calls together take n·log n steps.
func (s *Shared) Join(a, b int) {
	if s.Same(a, b) {
		return
	}
	if s.size[s.label[a].Load()] < s.size[s.label[b].Load()] {
		a, b = b, a
	}
	label, other := s.label[a].Load(), s.label[b].Load()
	s.size[label] += s.size[other]
	for i := uint32(b); s.label[i].Load() == other; i = s.next[i] {
		s.label[i].Store(label)
	}
	s.next[a], s.next[b] = s.next[b], s.next[a] // two rings become one
}

// Roots returns for each vertex the smallest one of its component.
func (s *Shared) Roots() []int {
	smallest := make([]int, len(s.label))
	roots := make([]int, len(s.label))
	for i := len(roots) - 1; i >= 0; i-- {
		smallest[s.label[i].Load()] = i
	}
	for i := range roots {
		roots[i] = smallest[s.label[i].Load()]
	}
	return roots
}
