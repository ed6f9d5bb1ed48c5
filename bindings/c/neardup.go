// Command c is the C library of neardup. neardup.h says what it has:
//
//	go build -C bindings -buildmode=c-shared -o libneardup.so ./c
//
// The functions here only convert between the types of C and those of package neardup. The compiler compares them with the
// header, because cgo declares them again.
package main

/*
#include "neardup.h"
#include <stdlib.h>
*/
import "C"

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/cgo"
	"slices"
	"sync"
	"unsafe"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup"
)

func main() {}

// text returns the bytes that C has as a string, without a copy: nothing here keeps it after the call.
func text(from C.neardup_text, length C.size_t) neardup.Text {
	return neardup.Text(unsafe.String((*byte)(unsafe.Pointer(from)), int(length)))
}

// A collection is what a neardup_dedup stands for.
type collection = dedup.Deduplicator[uint64]

// try runs f and tells C of its error, and of a panic, which would end the program.
func try(message **C.char, f func() error) (failed C.int) {
	var err error
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("neardup: %v", r)
		}
		if err == nil {
			return
		}
		failed = 1
		if message != nil {
			*message = C.CString(err.Error())
		}
	}()
	err = f()
	return 0
}

// with runs f with the collection of a handle.
func with(d C.neardup_dedup, message **C.char, f func(*collection) error) C.int {
	return try(message, func() error {
		if d == 0 {
			return fmt.Errorf("neardup: the handle of the collection is 0")
		}
		c, err := collectionOf(d)
		if err != nil {
			return err
		}
		return f(c)
	})
}

// collectionOf returns the collection of a handle, or an error if it was closed or never was one.
func collectionOf(d C.neardup_dedup) (c *collection, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("neardup: the collection is closed")
		}
	}()
	return cgo.Handle(d).Value().(*collection), nil
}

// array gives values to C, in memory of C's.
func array[E any](values []E, to **E, count *C.size_t) {
	*to, *count = nil, C.size_t(len(values))
	if len(values) > 0 {
		memory := C.malloc(C.size_t(len(values)) * C.size_t(unsafe.Sizeof(values[0])))
		copy(unsafe.Slice((*E)(memory), len(values)), values)
		*to = (*E)(memory)
	}
}

var version = sync.OnceValue(func() C.neardup_text {
	v, err := new(neardup.Fingerprinter).Version()
	if err != nil {
		v = err.Error()
	}
	return C.neardup_text(unsafe.Pointer(C.CString(v)))
})

//export neardup_version
func neardup_version() C.neardup_text { return version() }

//export neardup_sum64
func neardup_sum64(from C.neardup_text, length C.size_t) C.uint64_t {
	return C.uint64_t(new(neardup.Fingerprinter).Sum64(text(from, length)))
}

//export neardup_sum128
func neardup_sum128(from C.neardup_text, length C.size_t, hi, lo *C.uint64_t) {
	sum := new(neardup.Fingerprinter).Sum128(text(from, length))
	*hi, *lo = C.uint64_t(sum.Hi), C.uint64_t(sum.Lo)
}

//export neardup_sign
func neardup_sign(from C.neardup_text, length C.size_t, values *C.uint32_t, count C.size_t, message **C.char) C.int {
	return try(message, func() error {
		m := neardup.MinHash{Values: int(count)}
		if _, err := m.Version(new(neardup.Fingerprinter)); err != nil || count == 0 {
			return cmp.Or(err, fmt.Errorf("neardup: a signature cannot have 0 values"))
		}
		copy(signature(values, count), new(neardup.Fingerprinter).Sign(text(from, length), m))
		return nil
	})
}

// signature returns values of C's as a signature.
func signature(values *C.uint32_t, count C.size_t) neardup.Signature {
	return unsafe.Slice((*uint32)(unsafe.Pointer(values)), int(count))
}

//export neardup_jaccard
func neardup_jaccard(a, b C.neardup_values, count C.size_t) C.double {
	return C.double(signature((*C.uint32_t)(unsafe.Pointer(a)), count).Jaccard(signature((*C.uint32_t)(unsafe.Pointer(b)), count)))
}

//export neardup_dedup_new
func neardup_dedup_new(probability C.double, message **C.char) (d C.neardup_dedup) {
	try(message, func() error {
		c, err := dedup.New[uint64](dedup.Options{Probability: float64(probability)})
		if err == nil {
			d = C.neardup_dedup(cgo.NewHandle(c))
		}
		return err
	})
	return d
}

//export neardup_dedup_open
func neardup_dedup_open(path C.neardup_text, probability C.double, message **C.char) (d C.neardup_dedup) {
	try(message, func() error {
		c, err := dedup.Open[uint64](C.GoString((*C.char)(unsafe.Pointer(path))), dedup.Options{Probability: float64(probability)})
		if err == nil {
			d = C.neardup_dedup(cgo.NewHandle(c))
		}
		return err
	})
	return d
}

//export neardup_dedup_add
func neardup_dedup_add(d C.neardup_dedup, id C.uint64_t, from C.neardup_text, length C.size_t, message **C.char) C.int {
	return with(d, message, func(c *collection) error { return c.Add(uint64(id), text(from, length)) })
}

//export neardup_dedup_delete
func neardup_dedup_delete(d C.neardup_dedup, id C.uint64_t, message **C.char) C.int {
	return with(d, message, func(c *collection) error {
		_, err := c.Delete(uint64(id))
		return err
	})
}

//export neardup_dedup_search
func neardup_dedup_search(d C.neardup_dedup, from C.neardup_text, length C.size_t, matches **C.neardup_match, count *C.size_t, message **C.char) C.int {
	*matches, *count = nil, 0
	return with(d, message, func(c *collection) error {
		var found []C.neardup_match
		for m, err := range c.Search(context.Background(), text(from, length)) {
			if err != nil {
				return err
			}
			found = append(found, C.neardup_match{id: C.uint64_t(m.ID), similarity: C.double(m.Similarity), probability: C.double(m.Probability), kind: C.uint32_t(m.Kind)})
		}
		slices.SortStableFunc(found, func(a, b C.neardup_match) int { return cmp.Compare(b.probability, a.probability) })
		array(found, matches, count)
		return nil
	})
}

//export neardup_dedup_pairs
func neardup_dedup_pairs(d C.neardup_dedup, pairs **C.neardup_pair, count *C.size_t, message **C.char) C.int {
	*pairs, *count = nil, 0
	return with(d, message, func(c *collection) error {
		var found []C.neardup_pair
		for p, err := range c.Pairs(context.Background()) {
			if err != nil {
				return err
			}
			found = append(found, C.neardup_pair{a: C.uint64_t(p.A), b: C.uint64_t(p.B), similarity: C.double(p.Similarity), probability: C.double(p.Probability), kind: C.uint32_t(p.Kind)})
		}
		array(found, pairs, count)
		return nil
	})
}

//export neardup_dedup_groups
func neardup_dedup_groups(d C.neardup_dedup, members **C.neardup_member, count *C.size_t, message **C.char) C.int {
	*members, *count = nil, 0
	return with(d, message, func(c *collection) error {
		groups, err := c.Groups(context.Background(), dedup.GroupOptions[uint64]{})
		var found []C.neardup_member
		for _, g := range groups {
			for _, id := range g.Members {
				found = append(found, C.neardup_member{id: C.uint64_t(id), keep: C.uint64_t(g.Keep)})
			}
		}
		if err == nil {
			array(found, members, count)
		}
		return err
	})
}

//export neardup_dedup_close
func neardup_dedup_close(d C.neardup_dedup, message **C.char) C.int {
	return with(d, message, func(c *collection) error {
		cgo.Handle(d).Delete()
		return c.Close()
	})
}

//export neardup_free
func neardup_free(memory unsafe.Pointer) { C.free(memory) }
