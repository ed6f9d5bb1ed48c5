// Package kernel has the inner loops that take most of the time. Each is written portably in Go, and
// beside it in assembly for some processors. All versions give the same results, and tests compare
// them.
//
//	near.go       compares fingerprints: scans for near ones
//	values.go     compares MinHash signatures
//	products.go   permutes hashes, and finds the smallest
//	rows.go       finds the smallest of some rows of bytes
//	tier.go       which version runs
//
// The portable twins of some are elsewhere:
//
//	units_amd64.go     counts the bits of hashes                internal/bitsum
//	weighted_amd64.go  adds hashes with weights into counters   internal/bitsum
//	words_amd64.go     cuts ASCII into words                    internal/lex
//	lengths_amd64.go   sorts strings by length, to be hashed    internal/lex
//
// Beside a file such as rows.go, rows_amd64.go and rows_arm64.go choose and declare the assembly, and
// rows_other.go is for all other processors, and for the build tag purego. The assembly for amd64 is
// generated: go run -C internal/kernel/gen . The generator knows no arm64, so that is written by hand.
package kernel
