package graph

// A forest has for each vertex one of its component, the smallest at the root.
type forest []int

func NewForest(n int) forest {
	f := make(forest, n)
	for i := range f {
		f[i] = i
	}
	return f
}

// Find returns the smallest vertex of the component of i.
func (f forest) Find(i int) int {
	for f[i] != i {
		f[i] = f[f[i]]
		i = f[i]
	}
	return i
}

func (f forest) Join(a, b int) {
	i, j := f.Find(a), f.Find(b)
	f[max(i, j)] = min(i, j)
}

// Roots makes the forest the smallest vertex of each component.
func (f forest) Roots() []int {
	for i := range f {
		f[i] = f.Find(i)
	}
	return f
}
