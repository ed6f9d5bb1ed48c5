package lex

import (
	"unsafe"
)

// Bytes returns the bytes of s, which must not be written to.
func Bytes(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// String returns b as a string; b must not be written to any more.
func String(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
