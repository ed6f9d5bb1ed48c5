// Package must turns errors into panics, for experiments in which no error is expected.
package must

import "iter"

// Do panics if err is not nil.
func Do(err error) {
	if err != nil {
		panic(err)
	}
}

// Get returns x, or panics if err is not nil.
func Get[T any](x T, err error) T {
	Do(err)
	return x
}

// Collect returns all values of a sequence. It panics at the first error.
func Collect[T any](seq iter.Seq2[T, error]) (all []T) {
	for x, err := range seq {
		all = append(all, Get(x, err))
	}
	return all
}
