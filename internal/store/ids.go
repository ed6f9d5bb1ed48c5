package store

import (
	"bytes"
	"encoding"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"math/bits"
	"reflect"
	"strings"
	"unsafe"

	"github.com/neardup/neardup/internal/format"
	"github.com/zeebo/xxh3"
)

// This file has the ids: how they are hashed, written and read, and the columns in which runs keep
// them. The written forms and the hashes are in files. So they are the same on every platform and
// must not change.

// An IDType says how the ids of an index are hashed and written. Ids of an integer or string kind,
// named types included, are handled here. Other ids are written by their own methods, if they have
// them (see binaryIDs). If not, they cannot be written, and are hashed by [maphash], which differs
// from process to process.
type IDType[ID comparable] struct {
	Kind    idKind
	integer bool // with size bytes
	signed  bool
	native  bool // int, uint or uintptr: the size depends on the platform
	size    int  // of an id in memory, in bytes
	seed    maphash.Seed
}

// An idKind says how ids are written. Files hold its text. For integers it is "signed" or
// "unsigned" with the number of bits, such as signed64. All integers are written in 64 bits.
type idKind string

const (
	stringIDs idKind = "string"
	binaryIDs idKind = "binary" // by the methods of encoding.BinaryMarshaler or BinaryAppender, and BinaryUnmarshaler
	memoryIDs idKind = ""       // cannot be written, so only an index in memory can have them
)

// IDTypeOf returns the IDType of a type. The methods of a type come before its kind: an integer
// that marshals itself is binary.
func IDTypeOf[ID comparable]() IDType[ID] {
	t := reflect.TypeFor[ID]()
	it := IDType[ID]{size: int(t.Size())}
	_, reads := any(new(ID)).(encoding.BinaryUnmarshaler)
	_, appends := any(new(ID)).(encoding.BinaryAppender)
	_, marshals := any(new(ID)).(encoding.BinaryMarshaler)
	switch k := t.Kind(); {
	case reads && (appends || marshals):
		it.Kind = binaryIDs
	case k >= reflect.Uint && k <= reflect.Uintptr:
		it.integer, it.native = true, k == reflect.Uint || k == reflect.Uintptr
		it.Kind = integerKind("unsigned", it.size, it.native)
	case k >= reflect.Int && k <= reflect.Int64:
		it.integer, it.signed, it.native = true, true, k == reflect.Int
		it.Kind = integerKind("signed", it.size, it.native)
	case k == reflect.String:
		it.Kind = stringIDs
	default:
		it.seed = maphash.MakeSeed()
	}
	return it
}

// integerKind returns the kind of integers of the given size in bytes. An int counts as 64 bits on
// every platform, so that a 32-bit machine reads the files of a 64-bit one.
func integerKind(sign string, size int, native bool) idKind {
	if native {
		size = 8
	}
	return idKind(fmt.Sprintf("%s%d", sign, 8*size))
}

// reads reports whether ids of a kind from a file can be read. An int also reads signed32, and a
// uint unsigned32: older files of 32-bit platforms say so.
func (it *IDType[ID]) reads(kind idKind) bool {
	return kind == it.Kind || it.native && kind == integerKind(strings.TrimSuffix(string(it.Kind), "64"), 4, false)
}

// toInt returns an id of an integer kind in 64 bits, with its sign extended.
func (it *IDType[ID]) toInt(id ID) uint64 {
	p := unsafe.Pointer(&id)
	switch it.size {
	case 1:
		if it.signed {
			return uint64(*(*int8)(p))
		}
		return uint64(*(*uint8)(p))
	case 2:
		if it.signed {
			return uint64(*(*int16)(p))
		}
		return uint64(*(*uint16)(p))
	case 4:
		if it.signed {
			return uint64(*(*int32)(p))
		}
		return uint64(*(*uint32)(p))
	}
	return *(*uint64)(p)
}

// fromInt is the inverse of toInt. ok is false if x does not fit into an ID.
func (it *IDType[ID]) fromInt(x uint64) (id ID, ok bool) {
	p := unsafe.Pointer(&id)
	switch it.size {
	case 1:
		*(*uint8)(p) = uint8(x)
	case 2:
		*(*uint16)(p) = uint16(x)
	case 4:
		*(*uint32)(p) = uint32(x)
	default:
		*(*uint64)(p) = x
	}
	return id, it.toInt(id) == x
}

// asString returns an id of the kind string as a string.
func asString[ID comparable](id *ID) string { return *(*string)(unsafe.Pointer(id)) }

// hash spreads ids over 64 bits. Equal ids have equal hashes. The hash of an id that can be written
// is the same on every platform; the table of ids in a snapshot relies on that.
func (it *IDType[ID]) hash(id ID) uint64 {
	switch {
	case id != id:
		return 0 // NaN: maphash would return another hash each time
	case it.integer:
		hi, lo := bits.Mul64(it.toInt(id)^0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93)
		return hi ^ lo
	case it.Kind == stringIDs:
		return xxh3.HashString(asString(&id))
	case it.Kind == binaryIDs:
		b, err := it.append(nil, id)
		if err != nil {
			return 0 // an index in files refuses such an id anyway
		}
		return xxh3.Hash(b)
	}
	return maphash.Comparable(it.seed, id)
}

// append appends the written form of an id to b. An integer has 8 bytes, little-endian.
func (it *IDType[ID]) append(b []byte, id ID) ([]byte, error) {
	switch {
	case it.integer:
		return binary.LittleEndian.AppendUint64(b, it.toInt(id)), nil
	case it.Kind == stringIDs:
		return append(b, asString(&id)...), nil
	case it.Kind == binaryIDs:
		return appendBinary(b, id)
	}
	return nil, fmt.Errorf("ids of type %T cannot be written: they are neither integers nor strings, and do not implement encoding.BinaryAppender and BinaryUnmarshaler", id)
}

// errID is the error of a written id that its type cannot read.
var errID = errors.New("an id that is invalid for its type")

// decode is the inverse of append. The id shares no memory with b.
func (it *IDType[ID]) decode(b []byte) (id ID, err error) {
	switch {
	case it.integer:
		if len(b) != 8 {
			return id, errID
		}
		id, ok := it.fromInt(binary.LittleEndian.Uint64(b))
		if !ok {
			return id, errID
		}
		return id, nil
	case it.Kind == stringIDs:
		*(*string)(unsafe.Pointer(&id)) = string(b)
		return id, nil
	}
	return decodeBinary[ID](b)
}

// appendChecked is append for writing to a file. It returns an error if the id is too long for a
// journal, or if its own methods do not read back what they wrote.
func (it *IDType[ID]) appendChecked(b []byte, id ID) ([]byte, error) {
	text, err := it.append(b, id)
	if n := len(text) - len(b); err == nil && n > maxFrame/2 {
		return nil, fmt.Errorf("an id of %d bytes, more than %d", n, maxFrame/2)
	}
	if err == nil && it.Kind == binaryIDs {
		var again ID
		if again, err = it.decode(text[len(b):]); err == nil && again != id {
			err = fmt.Errorf("id %v reads back as %v", id, again)
		}
	}
	return text, err
}

// appendBinary is append for the kind binary.
func appendBinary[ID comparable](b []byte, id ID) ([]byte, error) {
	if a, ok := any(&id).(encoding.BinaryAppender); ok {
		return a.AppendBinary(b)
	}
	text, err := any(&id).(encoding.BinaryMarshaler).MarshalBinary()
	return append(b, text...), err
}

// decodeBinary is decode for the kind binary. The id gets its own copy of b, which it may keep.
func decodeBinary[ID comparable](b []byte) (id ID, err error) {
	if err := any(&id).(encoding.BinaryUnmarshaler).UnmarshalBinary(bytes.Clone(b)); err != nil {
		return id, fmt.Errorf("%w: %w", errID, err)
	}
	return id, nil
}

// An IDColumn holds the ids of a run, by ordinal. An error means that the file they lie in is
// damaged.
type IDColumn[ID comparable] interface {
	At(ord uint32) (ID, error)          // the id of a document
	Is(ord uint32, id ID) (bool, error) // whether a document has an id; it makes no copy of strings
	Bytes() int                         // of memory or of the file
}

// MemoryColumn is an IDColumn in memory.
type MemoryColumn[ID comparable] []ID

// At implements [IDColumn].
func (c MemoryColumn[ID]) At(ord uint32) (ID, error) { return c[ord], nil }

// Is implements [IDColumn].
func (c MemoryColumn[ID]) Is(ord uint32, id ID) (bool, error) { return c[ord] == id, nil }

// Bytes implements [IDColumn]. It does not count what ids point to.
func (c MemoryColumn[ID]) Bytes() int { return cap(c) * int(unsafe.Sizeof(*new(ID))) }

// A fileColumn is an IDColumn in a snapshot. It checks the blocks of the file that it reads.
type fileColumn[ID comparable] struct {
	file *Mapping // nil if the whole file was checked
	it   *IDType[ID]
	ints []uint64 // integers, or else where the text of each id ends
	text []byte   // the written ids, one after the other
}

// of returns the written form of an id that is not an integer.
func (c *fileColumn[ID]) of(ord uint32) ([]byte, error) {
	from := uint64(0)
	before := max(ord, 1) - 1
	// Check two numbers even if ord is 0: columns are padded to 64 bytes, so that they are there.
	if err := c.file.Check(unsafe.Pointer(&c.ints[before]), 16); err != nil {
		return nil, err
	}
	if ord > 0 {
		from = c.ints[before]
	}
	to := c.ints[ord]
	if from > to || to > uint64(len(c.text)) {
		return nil, format.Damaged("an id is outside of its column")
	}
	text := c.text[from:to]
	return text, c.file.Check(unsafe.Pointer(unsafe.SliceData(text)), len(text))
}

// At implements [IDColumn].
func (c *fileColumn[ID]) At(ord uint32) (id ID, err error) {
	if c.it.integer {
		if err := c.file.Check(unsafe.Pointer(&c.ints[ord]), 8); err != nil {
			return id, err
		}
		id, ok := c.it.fromInt(c.ints[ord])
		if !ok {
			return id, fmt.Errorf("%w: %d", errID, c.ints[ord])
		}
		return id, nil
	}
	text, err := c.of(ord)
	if err != nil {
		return id, err
	}
	return c.it.decode(text)
}

// Is implements [IDColumn].
func (c *fileColumn[ID]) Is(ord uint32, id ID) (bool, error) {
	if c.it.Kind == stringIDs {
		text, err := c.of(ord)
		return string(text) == asString(&id), err
	}
	stored, err := c.At(ord)
	return stored == id, err
}

// Bytes implements [IDColumn].
func (c *fileColumn[ID]) Bytes() int { return 8*len(c.ints) + len(c.text) }
