package neardup

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/neardup/neardup/internal/forest"
	"github.com/neardup/neardup/internal/lex"
	"github.com/neardup/neardup/internal/parallel"
	"github.com/neardup/neardup/internal/textfile"
)

// This file keeps the keys and sketches of contents for the next time, for a [Deduplicator] in files. They are in
// PATH.keys, a row of bytes for each content.
//
// They depend on the weights, and so on all documents, but they only decide who is compared. A rare feature stays
// rare while a collection grows, so keys serve until it has doubled, or has lost half of its contents. So a
// collection that is opened again need not be read as a whole.
//
// The file has nothing that could not be made again. One that is damaged is replaced, as far as its beginning shows
// that it is such a file.

// The bytes of a row, little-endian.
const (
	rowDigest = 0                         // of the content
	rowSize   = 8                         // how many contents there were when the keys were made
	rowSketch = 16                        //
	rowKeys   = rowSketch + forest.Values //
	rowBytes  = rowKeys + 8*forestTrees

	keysKind    = "keys"
	keysVersion = 1 // must be raised whenever the keys of a text change
)

// A keyFile is the file of the keys.
type keyFile struct {
	path, version string
	mu            sync.Mutex
	file          *textfile.File // nil until it is needed
}

// open returns the file, with so many rows at most. If it has more, or is not as it was written, open makes an
// empty one.
func (k *keyFile) open(most int) (*textfile.File, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	version := fmt.Sprintf("%s keys=%d:%d", k.version, forestTrees, keysVersion)
	if k.file == nil {
		f, err := textfile.Open(k.path, keysKind, version, again)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrVersion) {
			return nil, fmt.Errorf("neardup: it is in the way of the keys: %w", err)
		}
		if k.file = f; f != nil { // a row that a killed process did not write as a whole
			f.Cut(f.Begin() + int64(rowsOf(f))*textfile.Bytes(rowBytes))
		}
	}
	if f := k.file; f != nil && f.Err() == nil && rowsOf(f) <= most {
		return f, nil
	}
	err := k.close()
	if err == nil {
		k.file, err = textfile.Create(k.path, keysKind, version)
	}
	return k.file, err
}

// close closes the file, if it is open.
func (k *keyFile) close() error {
	if k.file == nil {
		return nil
	}
	f := k.file
	k.file = nil
	return errors.Join(f.Write(), f.Close())
}

// rowsOf returns the number of rows in a file of keys.
func rowsOf(f *textfile.File) int { return int((f.Size() - f.Begin()) / textfile.Bytes(rowBytes)) }

// A keptKeys knows the keys of a collection that are in the file. The zero value has none, and keeps none.
type keptKeys struct {
	file *textfile.File
	rows []atomic.Uint32 // the row of each content and 1, or 0
	size int             // the number of contents
}

// keptKeys returns what the file has for the collection.
func (c *collection[ID]) keptKeys() (k keptKeys, err error) {
	n := len(c.contents)
	if c.of.files == nil {
		return k, nil
	}
	k.size = n
	if k.file, err = c.of.files.keys.open(2*n + 1000); err != nil {
		return keptKeys{}, err
	}
	k.rows = make([]atomic.Uint32, n)
	old, fresh := c.contents[:c.old], c.contents[c.old:] // both are ascending by digest
	byDigest := func(s sharedContent, digest uint64) int {
		if s.digest < digest {
			return -1
		}
		return 1
	}
	parallel.Chunks(rowsOf(k.file), func(_, from, to int) {
		var buf []byte
		for row := from; row < to; row++ {
			b := k.read(row, &buf)
			if b == nil {
				continue
			}
			if size := int(binary.LittleEndian.Uint64(b[rowSize:])); n >= 2*size || 2*n <= size {
				continue
			}
			digest := binary.LittleEndian.Uint64(b[rowDigest:])
			for first, part := range [][]sharedContent{old, fresh} {
				at, _ := slices.BinarySearchFunc(part, digest, byDigest)
				for ; at < len(part) && part[at].digest == digest; at++ {
					r := &k.rows[first*c.old+at]
					for was := r.Load(); int(was) <= row && !r.CompareAndSwap(was, uint32(row+1)); was = r.Load() {
					}
				}
			}
		}
	})
	return k, nil
}

// read returns a row, or nil if it is damaged. It lies in buf.
func (k *keptKeys) read(row int, buf *[]byte) []byte {
	b := k.file.Read(k.file.Begin()+int64(row)*textfile.Bytes(rowBytes), rowBytes, buf)
	if b == "" {
		return nil
	}
	return lex.Bytes(b)
}

// has reports whether the file has the keys of a content.
func (k *keptKeys) has(i int) bool { return k.file != nil && k.rows[i].Load() > 0 }

// get sets the keys and the sketch of a content, and reports whether the file has them.
func (k *keptKeys) get(i int, keys []forest.Key, sketch *forest.Sketch, buf *[]byte) bool {
	if !k.has(i) {
		return false
	}
	b := k.read(int(k.rows[i].Load()-1), buf)
	if b == nil {
		return false
	}
	for v := range sketch {
		sketch[v] = binary.LittleEndian.Uint64(b[rowSketch+8*v:])
	}
	for t := range keys {
		keys[t] = forest.Key(binary.LittleEndian.Uint64(b[rowKeys+8*t:]))
	}
	return true
}

// put adds the keys and the sketch of a content to the file, if there is one.
func (k *keptKeys) put(digest uint64, keys []forest.Key, sketch *forest.Sketch, buf *[]byte) {
	if k.file == nil {
		return
	}
	b := binary.LittleEndian.AppendUint64((*buf)[:0], digest)
	b = binary.LittleEndian.AppendUint64(b, uint64(k.size))
	for _, values := range sketch {
		b = binary.LittleEndian.AppendUint64(b, values)
	}
	for _, key := range keys {
		b = binary.LittleEndian.AppendUint64(b, uint64(key))
	}
	*buf = b
	k.file.Append(lex.String(b)) // Write has the error
}
