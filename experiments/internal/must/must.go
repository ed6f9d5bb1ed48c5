// Package must is for experiments, in which an error is the end.
package must

import "iter"

// Do panics if there is an error.
func Do(err error) {
	if err != nil {
		panic(err)
	}
}

// Get returns what a call returns without an error.
func Get[T any](x T, err error) T {
	Do(err)
	return x
}

// Collect returns the values of a sequence without an error.
func Collect[T any](seq iter.Seq2[T, error]) (all []T) {
	for x, err := range seq {
		all = append(all, Get(x, err))
	}
	return all
}
