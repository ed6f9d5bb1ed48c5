// Package graph groups the vertices 0 to n−1 of a graph whose edges join similar documents. There
// are three kinds of groups: connected components ([Forest]), groups around centres ([Centres], and
// [CentresOf], which looks the edges up as it needs them, instead of getting all of them), and groups
// in which every two members are similar ([CompleteLinks]).
//
// The result is always a slice that has, for each vertex, the vertex that stands for its group. The
// vertices of an edge must be in the range 0 to n−1.
package graph

// A Forest is a union-find structure for connected components. f[i] is the parent of vertex i; a
// root is its own parent and the smallest vertex of its component. It is not safe for concurrent
// use.
type Forest []int

// NewForest returns n vertices, each a component of its own.
func NewForest(n int) Forest {
	f := make(Forest, n)
	for i := range f {
		f[i] = i
	}
	return f
}

// Find returns the smallest vertex of the component of i. It halves the path on its way, so a long
// sequence of calls takes nearly linear time.
func (f Forest) Find(i int) int {
	for f[i] != i {
		f[i] = f[f[i]]
		i = f[i]
	}
	return i
}

// Join makes one component of those of a and b.
func (f Forest) Join(a, b int) {
	i, j := f.Find(a), f.Find(b)
	f[max(i, j)] = min(i, j)
}

// Roots returns the smallest vertex of each vertex's component. It reuses the memory of f, which
// stays valid.
func (f Forest) Roots() []int {
	for i := range f {
		f[i] = f.Find(i)
	}
	return f
}
