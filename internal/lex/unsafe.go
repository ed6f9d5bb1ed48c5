package lex

import (
	"unsafe"
)

// Conversions between strings and bytes without a copy. Everything in the library that uses them
// goes through this file, so the rules that the compiler cannot check are written down once.

// Bytes returns the bytes of s without copying them. The caller must not write to them.
func Bytes(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// String returns b as a string without copying it. The string shares its memory with b: it is valid
// only as long as nobody writes to b.
func String(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// memory returns the memory of numbers without copying it, in the order of bytes of the processor.
func memory(numbers []uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(numbers))), 8*len(numbers))
}
