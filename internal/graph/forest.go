package graph

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
