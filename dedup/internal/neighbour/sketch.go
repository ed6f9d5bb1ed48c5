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

// A sketch is the four lowest bits of each value of a signature, 64 bytes instead of 256. Two sketches agree wherever the
// signatures do, and by chance in a sixteenth of the other values, which agreement takes off. That makes it an estimate with a
// standard error of 2.6 values besides that of the signatures, which is 5. Nobody else needs the signatures, so those of all pairs that
// share a band by chance are never read.
type sketch [signature.Values / 16]uint64

// sketchOf returns the sketch of a signature. Its value i stands in bits 4i to 4i+3.
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

// compareFrom compares two sketches by all values from the beginning of a band, where the first one follows the last. The order within a
// value is any. So those that agree in many values from there on stand side by side.
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

// Sketches are the sketches of all signatures, by ordinal: in memory, or in a file as far as they take more than they may. They are
// read by several goroutines at once.
type sketches struct {
	memory int64                // how many bytes may be in memory
	mapped slots.Column[sketch] // of the first ordinals, in a file that outlives the program
	filed  int                  // how many of the others are in a temporary file
	file   *textfile.File       // pages of them; nil if there are none
	last   slots.Column[sketch] // all others
}

// page is how many sketches are read at once from the file. A page has four kilobytes.
const page = 64

// pageBytes is how much of the file a page takes.
var pageBytes = textfile.Bytes(8 * page * len(sketch{}))

// makeRoom moves what is in memory to the file if it takes more than it may. After an error it is where it was.
func (s *sketches) makeRoom() error {
	n := s.last.Len()
	if int64(n)*int64(8*len(sketch{})) < s.memory || n == 0 || n%page != 0 {
		return nil
	}
	if s.file == nil {
		s.file = textfile.Temporary(0)
	}
	from := s.file.Size()
	err := s.spill()
	if err != nil {
		s.file.Cut(from)
	}
	return err
}

// spill moves what is in memory to the file.
func (s *sketches) spill() error {
	for i := 0; i < s.last.Len(); i += page {
		// Pages are of one size, so their numbers say where they are. No page is in two pieces of the column.
		if _, err := s.file.AppendBytes(slots.Bytes(s.last.Chunk(i)[:page])); err != nil {
			return err
		}
	}
	s.filed += s.last.Len()
	s.last = slots.Column[sketch]{}
	return nil
}

// at copies a sketch.
func (s *sketches) at(ord uint32, into *sketch) {
	k, filed := s.place(ord)
	if k != nil {
		*into = *k
		return
	}
	buf := pageBuffers.Get().(*[]byte)
	defer pageBuffers.Put(buf)
	s.read(filed/page, buf).copy(filed%page, into)
}

// place returns a sketch, or where it is in the temporary file.
func (s *sketches) place(ord uint32) (k *sketch, filed int) {
	n := int(ord) - s.mapped.Len()
	switch {
	case n < 0:
		return s.mapped.At(ord), 0
	case n < s.filed:
		return nil, n
	}
	return s.last.At(uint32(n - s.filed)), 0
}

// pageBuffers are for reading pages.
var pageBuffers = sync.Pool{New: func() any { return new([]byte) }}

// A filedPage is a page as it is in the file, or nothing if it cannot be read; then the file has the error. It is valid as long as its buffer.
type filedPage string

// copy copies a sketch of the page.
func (p filedPage) copy(i int, into *sketch) {
	if p != "" {
		copy(slots.Bytes(into[:]), p[i*8*len(sketch{}):])
	}
}

// read reads a page of the file.
func (s *sketches) read(number int, buf *[]byte) filedPage {
	return filedPage(s.file.Read(int64(number)*pageBytes, 8*page*len(sketch{}), buf))
}

// gather copies the sketches of the ordinals in the lower halves of a list, in its order. From the file they are read in the order in
// which they stand there, each page once. order is room for that, nil or what was returned before.
func (s *sketches) gather(list []uint64, into []sketch, order *[2][]uint64) []sketch {
	into = slices.Grow(into[:0], len(list))[:len(list)]
	if s.filed == 0 {
		for i, e := range list {
			k, _ := s.place(uint32(e))
			into[i] = *k
		}
		return into
	}
	byOrd := order[0][:0]
	for i, e := range list {
		byOrd = append(byOrd, e<<32|uint64(i))
	}
	byOrd, order[1] = slots.SortByKey(byOrd, 32, order[1])
	order[0] = byOrd
	buf := pageBuffers.Get().(*[]byte)
	defer pageBuffers.Put(buf)
	var p filedPage
	at := -1 // which page it is
	for _, o := range byOrd {
		k, filed := s.place(uint32(o >> 32))
		if k != nil {
			into[uint32(o)] = *k
			continue
		}
		if filed/page != at {
			at = filed / page
			p = s.read(at, buf)
		}
		p.copy(filed%page, &into[uint32(o)])
	}
	return into
}

// snapshot returns the sketches as they are now.
func (s *sketches) snapshot() sketches {
	c := *s
	c.mapped, c.last = s.mapped.Snapshot(), s.last.Snapshot()
	return c
}

// Keys are the keys of the bands of the last signatures that were added, by ordinal. Those of one band stand in a row, since
// nobody wants more than one band at a time. They are in memory, or in a file as far as they take more than they may.
type keys struct {
	memory int64 // how many bytes may be in memory
	from   int   // the ordinal of the first one
	n      int
	filed  int                        // how many are in the file, a multiple of fileBlock
	blocks []*[bands][keyBlock]uint32 // the others
	file   *textfile.File             // nil if there are none
}

const (
	keyBlock  = 512           // signatures that share a block of keys, which takes 86 KB
	fileBlock = 32 * keyBlock // in the file, where a row should not be too short
)

// rowBytes is how much of the file a row takes.
var rowBytes = textfile.Bytes(4 * fileBlock)

// makeRoom moves what is in memory to the file if it takes more than it may. After an error it is where it was.
func (k *keys) makeRoom() error {
	if k.n == k.filed || (k.n-k.filed)%fileBlock != 0 || int64(len(k.blocks))*int64(unsafe.Sizeof(*k.blocks[0])) < k.memory {
		return nil
	}
	if k.file == nil {
		k.file = textfile.Temporary(0)
	}
	from := k.file.Size()
	err := k.spill()
	if err != nil {
		k.file.Cut(from)
	}
	return err
}

// append appends the keys of a signature.
func (k *keys) append(s *signature.Signature) {
	if k.n%keyBlock == 0 {
		k.blocks = append(k.blocks, new([bands][keyBlock]uint32))
	}
	block, at := k.blocks[(k.n-k.filed)/keyBlock], k.n%keyBlock
	for b := range bands {
		block[b][at] = keyOf(s, b)
	}
	k.n++
}

// spill moves all blocks to the file.
func (k *keys) spill() error {
	row := make([]uint32, 0, fileBlock)
	for i := 0; i < len(k.blocks); i += fileBlock / keyBlock {
		for b := range bands {
			row = row[:0]
			for _, block := range k.blocks[i : i+fileBlock/keyBlock] {
				row = append(row, block[b][:]...)
			}
			if _, err := k.file.AppendBytes(slots.Bytes(row)); err != nil {
				return err
			}
		}
	}
	k.filed += len(k.blocks) * keyBlock
	k.blocks = nil
	return nil
}

// place returns where the row of a band is that begins with key i.
func (k *keys) place(band, i int) int64 { return (int64(i/fileBlock)*bands + int64(band)) * rowBytes }

// end returns the ordinal behind the last one.
func (k *keys) end() int { return k.from + k.n }

// rows calls take with the keys of a band in their order, part by part, each with the ordinal of the first one. The part is
// only valid during the call.
func (k *keys) rows(band int, take func(first uint32, row []uint32)) {
	if k.filed > 0 {
		buf := pageBuffers.Get().(*[]byte)
		defer pageBuffers.Put(buf)
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

// forget drops all keys. The next ones are those of the ordinals from from on.
func (k *keys) forget(from int) { *k = keys{memory: k.memory, from: from} }
