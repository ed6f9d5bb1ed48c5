package neighbour

import (
	"cmp"
	"math/bits"
	"slices"
	"sync"
	"unsafe"

	"github.com/neardup/neardup/dedup/internal/signature"
	"github.com/neardup/neardup/internal/slots"
	"github.com/neardup/neardup/internal/textfile"
)

// This file has what is kept of a signature: a sketch of it, and the keys of its bands, in memory or in files.

// A sketch is the four lowest bits of each value of a signature, 64 bytes instead of 256. Two sketches agree
// wherever the signatures do, and by chance in a sixteenth of the other values, which agreement takes off.
// That makes it an estimate with a standard error of 2.6 values besides that of the signatures, which is 5.
// Who is a neighbour is defined by sketches, so a search reads one signature, that of its point, and none of
// those that it compares it with.
type sketch [signature.Values / 16]uint64

// sketchOf returns the sketch of a signature. Value i is in bits 4i to 4i+3 of the sketch.
func sketchOf(s *signature.Signature) (k sketch) {
	for i, x := range s {
		x &= 0x000F_000F_000F_000F
		x |= x>>12 | x>>24 | x>>36
		k[i/4] |= x & 0xFFFF << (i % 4 * 16)
	}
	return k
}

// same returns in how many values two sketches agree.
func (k *sketch) same(other *sketch) int {
	const lowest = 0x1111_1111_1111_1111
	differ := 0
	for i, x := range k {
		x ^= other[i]
		x |= x >> 1
		x |= x >> 2
		differ += bits.OnesCount64(x & lowest)
	}
	return signature.Values - differ
}

// agreement returns in how many values the signatures agree, by the number of values in which the sketches do.
func agreement(same int) int32 {
	return int32(max(16*same-signature.Values+7, 0) / 15) // rounded
}

// LeastSame returns in how many values the sketches of neighbours agree at least.
func LeastSame(l signature.Level) (same int) {
	for agreement(same) < leastAgreement[l] {
		same++
	}
	return same
}

// compareFrom compares two sketches by all values from the beginning of a band, where the first value follows
// the last. Any order within a value will do, as long as it is always the same. So those that agree in many
// values from there on are next to each other.
func compareFrom(a, b *sketch, band int) int {
	for i := range a {
		if x, y := a.turned(band, i), b.turned(band, i); x != y {
			return cmp.Compare(bits.Reverse64(x), bits.Reverse64(y))
		}
	}
	return 0
}

// turned returns 16 values: those of word i, if the sketch began with the first value of a band.
func (k *sketch) turned(band, i int) uint64 {
	at := band * rows
	word, shift := at/16+i, at%16*4
	return k[word%len(k)]>>shift | k[(word+1)%len(k)]<<(64-shift)
}

// keyOf returns the key of a band: a hash of its values. The values are as good as random, so a product
// is enough.
func keyOf(s *signature.Signature, band int) uint32 {
	at := func(i int) uint64 { return s.Value((band*rows + i) % signature.Values) }
	x := (at(0) | at(1)<<16 | at(2)<<32 | uint64(band)<<48) * 0x9E3779B97F4A7C15
	x = (x ^ x>>29) * 0xBF58476D1CE4E5B9
	return uint32(x >> 32)
}

// gather copies the sketches of the ordinals in the lower halves of a list, in its order. Those in a file are
// read in the order in which they are there. order is room for that, nil or what was returned before.
func gather(sketches *slots.Column[sketch], list []uint64, into []sketch, order *[2][]uint64) []sketch {
	into = slices.Grow(into[:0], len(list))[:len(list)]
	if !sketches.IsSpilled() {
		for i, e := range list {
			into[i] = *sketches.At(uint32(e))
		}
		return into
	}
	byOrd := order[0][:0]
	for i, e := range list {
		byOrd = append(byOrd, e<<32|uint64(i))
	}
	byOrd, order[1] = slots.SortByKey(byOrd, 32, order[1])
	order[0] = byOrd
	for _, o := range byOrd {
		into[uint32(o)] = *sketches.At(uint32(o >> 32))
	}
	return into
}

// buffers are for reading rows of keys; each row has the same length.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// Keys are the keys of the bands of the last signatures that were added, by ordinal. Those of one band are in a
// row, since all readers want one band at a time. They are in memory, or in a file as far as they take more
// than they may. When a run is made of them they are dropped.
type keys struct {
	memory int64 // how many bytes may be in memory
	from   int   // the ordinal of the first one
	n      int
	filed  int                        // how many are in the file, a multiple of fileBlock
	blocks []*[bands][keyBlock]uint32 // the others
	file   *textfile.File             // nil if there are none
	err    error                      // of a file that was dropped
}

const (
	keyBlock  = 512 // signatures that share a block of keys, which takes 86 KB
	perRow    = 32  // blocks that share a row in the file, which should not be too short
	fileBlock = perRow * keyBlock
)

// rowBytes is how much of the file a row takes.
var rowBytes = textfile.Bytes(4 * fileBlock)

// makeRoom moves what is in memory to the file if it takes more than it may, as many whole rows as there are.
// After an error the keys of the row that failed are still in memory, and what was written of it is cut off, so
// that the next row begins where place expects it.
func (k *keys) makeRoom() error {
	full := (k.n - k.filed) / fileBlock // how many rows of the file that makes
	if full == 0 || int64(len(k.blocks))*int64(unsafe.Sizeof(*k.blocks[0])) < k.memory {
		return nil
	}
	if k.file == nil {
		k.file = textfile.Temporary(0)
	}
	for from := k.file.Size(); full > 0; full-- {
		_, err := k.file.AppendAll(slices.Repeat([]int{4 * fileBlock}, bands), func(band int, to []byte) {
			for _, block := range k.blocks[:perRow] {
				to = to[copy(to, slots.Bytes(block[band][:])):]
			}
		})
		if err = cmp.Or(err, k.file.Write()); err != nil {
			k.file.Cut(from)
			return err
		}
		k.filed += fileBlock
		k.blocks = slices.Clone(k.blocks[perRow:])
		from = k.file.Size()
	}
	return nil
}

// extend appends room for the keys of n signatures, for set.
func (k *keys) extend(n int) {
	k.n += n
	for (k.n-k.filed+keyBlock-1)/keyBlock > len(k.blocks) {
		k.blocks = append(k.blocks, new([bands][keyBlock]uint32))
	}
}

// set sets the keys of a signature. Several goroutines may set those of different ones.
func (k *keys) set(ord int, s *signature.Signature) {
	i := ord - k.from - k.filed
	block, at := k.blocks[i/keyBlock], i%keyBlock
	for b := range bands {
		block[b][at] = keyOf(s, b)
	}
}

// place returns where the row of a band is that begins with key i.
func (k *keys) place(band, i int) int64 { return (int64(i/fileBlock)*bands + int64(band)) * rowBytes }

// end returns the ordinal after the last one.
func (k *keys) end() int { return k.from + k.n }

// rows calls take with the keys of a band in their order, part by part, each with the ordinal of the first one.
// The part is only valid during the call.
func (k *keys) rows(band int, take func(first uint32, row []uint32)) {
	if k.filed > 0 {
		buf := buffers.Get().(*[]byte)
		defer buffers.Put(buf)
		row := make([]uint32, fileBlock)
		for i := 0; i < k.filed; i += fileBlock {
			b := k.file.Read(k.place(band, i), 4*fileBlock, buf)
			if b == "" {
				return // the file has the error
			}
			copy(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(row))), 4*len(row)), b)
			take(uint32(k.from+i), row)
		}
	}
	for i, block := range k.blocks {
		first := k.filed + i*keyBlock
		take(uint32(k.from+first), block[band][:min(keyBlock, k.n-first)])
	}
}

// forget drops all keys. The next ones are those of the ordinals from from on. An error stays: it means that
// keys were missing when the run was made.
func (k *keys) forget(from int) { *k = keys{memory: k.memory, from: from, err: k.failed()} }

// failed returns the error of the file, or of an earlier one, whose keys are missing in the lists.
func (k *keys) failed() error { return cmp.Or(k.err, k.file.Err()) }
