package store

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/neardup/neardup/internal/format"
	"github.com/zeebo/xxh3"
)

// A journal is what happened to an index since its snapshot. It begins like all files of
// this package and goes on with frames:
//
//	length    4 bytes, little-endian: of the changes
//	check     4 bytes: of the length
//	changes   as long
//	checksum  8 bytes
//
// where each checksum is seeded with the one before. The first frame has the identity of
// the snapshot. A frame of which the end is missing is the trace of a writer that was
// killed, before it said that the frame was on the disk: it is dropped. So is one that has
// zeros instead of whole sectors, as file systems leave them when the power fails, unless
// a whole frame follows anywhere behind it. Anything else that does not fit is damage.
//
// A change is 1, seconds, length and id, and the words of the document, with their number
// before them if documents differ in length, for an addition; or 2, length and id, for a
// deletion. Seconds, lengths and numbers are unsigned varints.
type journal struct {
	File   *os.File
	Frame  []byte // what is to be written
	Sum    uint64
	dirty  bool  // written, but perhaps not on the disk
	read   int64 // up to which byte it was read
	writes int   // changes
}

const (
	ChangeAdd    = 1
	ChangeDelete = 2
	frameSize    = 1 << 16 // at which a frame is written
	frameHead    = 8
	maxFrame     = 1 << 30
	sector       = 512 // bytes that a disk writes together
)

// lengthCheck is a check of the length of a frame.
func lengthCheck(length []byte, sum uint64) uint32 { return uint32(xxh3.HashSeed(length, sum)) }

// CreateJournal makes an empty journal of a snapshot, in place of any other.
func CreateJournal(path, version, kind string, snapshot uint64) (*journal, error) {
	var head bytes.Buffer
	f := format.NewWriter(&head, kind, version)
	f.W.Flush()
	j := &journal{Sum: f.Sum}
	j.Frame = binary.LittleEndian.AppendUint64(j.Begin(), snapshot)
	head.Write(j.End())
	err := replaceFile(path, func(w *bufio.Writer) error {
		_, err := w.Write(head.Bytes())
		return err
	})
	if err != nil {
		return nil, err
	}
	j.Frame = nil
	j.File, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	return j, err
}

// Begin returns an empty frame, to which changes are appended.
func (j *journal) Begin() []byte { return append(j.Frame[:0], make([]byte, frameHead)...) }

// End completes the frame.
func (j *journal) End() []byte {
	binary.LittleEndian.PutUint32(j.Frame, uint32(len(j.Frame)-frameHead))
	binary.LittleEndian.PutUint32(j.Frame[4:], lengthCheck(j.Frame[:4], j.Sum))
	j.Sum = format.Checksum(j.Frame[frameHead:], j.Sum)
	j.Frame = binary.LittleEndian.AppendUint64(j.Frame, j.Sum)
	return j.Frame
}

// Add appends an addition, of a document with its length if that varies.
func (j *journal) Add(id []byte, doc []uint64, varied bool, seconds uint32) error {
	b := append(j.change(), ChangeAdd)
	b = binary.AppendUvarint(b, uint64(seconds))
	b = append(binary.AppendUvarint(b, uint64(len(id))), id...)
	if varied {
		b = binary.AppendUvarint(b, uint64(len(doc)))
	}
	for _, w := range doc {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return j.changed(b)
}

// delete appends a deletion.
func (j *journal) delete(id []byte) error {
	b := append(j.change(), ChangeDelete)
	return j.changed(append(binary.AppendUvarint(b, uint64(len(id))), id...))
}

func (j *journal) change() []byte {
	if len(j.Frame) == 0 {
		return j.Begin()
	}
	return j.Frame
}

func (j *journal) changed(frame []byte) error {
	j.Frame = frame
	j.writes++
	if len(j.Frame) < frameSize {
		return nil
	}
	return j.write()
}

// write writes the frame.
func (j *journal) write() error {
	if len(j.Frame) == 0 {
		return nil
	}
	_, err := j.File.Write(j.End())
	j.Frame = j.Frame[:0]
	j.dirty = true
	return err
}

// sync puts all changes on the disk.
func (j *journal) sync() error {
	if err := j.write(); err != nil {
		return err
	}
	if !j.dirty {
		return nil
	}
	j.dirty = false
	return j.File.Sync()
}

// errOtherSnapshot is the error of a journal of another snapshot than there is.
var errOtherSnapshot = errors.New("it belongs to another snapshot")

// ReadJournal reads a journal and calls add and delete for its changes. accept says
// whether it belongs to the snapshot. It returns the journal, to be continued, without what
// a killed writer left behind.
func ReadJournal(path, version, kind, again string, words int, accept func(snapshot uint64) error, add func(id []byte, doc []uint64, seconds uint32) error, remove func(id []byte) error) (j *journal, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	head, err := format.NewReader(f, kind, version, again)
	if err != nil {
		return nil, err
	}
	r := head.R
	at, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, err
	}
	j = &journal{File: f, dirty: true, Sum: head.Sum, read: at - int64(r.Buffered())}
	for first := true; ; first = false {
		left := info.Size() - j.read
		var start [frameHead]byte
		if left < frameHead {
			if left == 0 && !first {
				return j, nil
			}
			return j, j.cut(first)
		}
		if _, err := io.ReadFull(r, start[:]); err != nil {
			return nil, err
		}
		n := int64(binary.LittleEndian.Uint32(start[:]))
		if binary.LittleEndian.Uint32(start[4:]) != lengthCheck(start[:4], j.Sum) {
			// Only what is in the same sectors, which were written together, tells.
			rest, _ := r.Peek(int(min(left-frameHead, -(j.read+frameHead)&(sector-1))))
			if hasHole(append(start[:], rest...), j.read) {
				return j, j.cutHole(first, info.Size())
			}
			return nil, j.damaged("the check of a length does not fit")
		}
		if n > maxFrame {
			return nil, j.damaged("it is too long")
		}
		if left < frameHead+n+8 {
			return j, j.cut(first)
		}
		frame := make([]byte, n+8)
		if _, err := io.ReadFull(r, frame); err != nil {
			return nil, err
		}
		changes := frame[:n]
		sum := format.Checksum(changes, j.Sum)
		if binary.LittleEndian.Uint64(frame[n:]) != sum {
			if hasHole(append(start[:], frame...), j.read) {
				for { // behind the frame there must be nothing, or more of the hole
					c, err := r.ReadByte()
					if err == io.EOF {
						return j, j.cutHole(first, info.Size())
					}
					if err != nil {
						return nil, err
					}
					if c != 0 {
						return nil, j.damaged("a part of it is zeros, and more follows")
					}
				}
			}
			return nil, j.damaged("the checksum does not fit")
		}
		if first {
			if n != 8 {
				return nil, j.damaged("it does not name its snapshot")
			}
			if err := accept(binary.LittleEndian.Uint64(changes)); err != nil {
				return nil, err
			}
		} else if err := j.replay(changes, words, add, remove); err != nil {
			return nil, err
		}
		j.Sum = sum
		j.read += frameHead + n + 8
	}
}

// cutHole is cut for a frame with a hole, the trace of a power failure. But frames that follow it were
// on the disk, so the hole is damage, and nothing is taken away.
func (j *journal) cutHole(first bool, size int64) error {
	at, err := j.frameBehind(j.read, size)
	if err != nil {
		return err
	}
	if at > 0 {
		return j.damaged(fmt.Sprintf("a part of it is zeros, and whole frames follow, from byte %d on", at))
	}
	return j.cut(first)
}

// frameBehind looks for a whole frame that begins after a place in a journal of so many bytes, and
// returns where it begins, or 0. A frame can be recognised wherever it stands: the 8 bytes before it
// are the checksum of the frame before, and with that as the seed its own checks must fit.
func (j *journal) frameBehind(from, size int64) (int64, error) {
	const window = 1 << 20
	buf := make([]byte, window+frameHead)
	for at := from; at < size; at += window - frameHead {
		n, err := j.File.ReadAt(buf, at)
		if err != nil && err != io.EOF {
			return 0, err
		}
		for p := 8; p+frameHead <= n; p++ {
			before, head := binary.LittleEndian.Uint64(buf[p-8:]), buf[p:p+frameHead]
			length := int64(binary.LittleEndian.Uint32(head))
			begin := at + int64(p)
			if binary.LittleEndian.Uint32(head[4:]) != lengthCheck(head[:4], before) || length > maxFrame || begin+frameHead+length+8 > size {
				continue
			}
			frame := make([]byte, length+8)
			if _, err := j.File.ReadAt(frame, begin+frameHead); err != nil {
				return 0, err
			}
			if binary.LittleEndian.Uint64(frame[length:]) == format.Checksum(frame[:length], before) {
				return begin, nil
			}
		}
	}
	return 0, nil
}

// cut takes away what follows the last whole frame.
func (j *journal) cut(first bool) error {
	if first { // it was written at once
		return j.damaged("it ends early")
	}
	return j.File.Truncate(j.read)
}

func (j *journal) damaged(what string) error {
	return format.Damaged("the frame at byte %d: %s", j.read, what)
}

// replay calls add and remove for the changes of a frame.
func (j *journal) replay(b []byte, words int, add func(id []byte, doc []uint64, seconds uint32) error, remove func(id []byte) error) error {
	uvarint := func() uint64 {
		x, n := binary.Uvarint(b)
		if n <= 0 {
			b = nil
			return 1 << 63
		}
		b = b[n:]
		return x
	}
	doc := make([]uint64, words)
	for len(b) > 0 {
		op := b[0]
		b = b[1:]
		seconds := uint64(0)
		if op == ChangeAdd {
			seconds = uvarint()
		}
		n := uvarint()
		if op != ChangeAdd && op != ChangeDelete || seconds > 1<<32-1 || n > uint64(len(b)) {
			return j.damaged("a change that is none")
		}
		id := b[:n]
		b = b[n:]
		var err error
		if op == ChangeDelete {
			err = remove(id)
		} else {
			n := uint64(words)
			if words == 0 {
				n = uvarint()
			}
			if uint64(len(b))/8 < n {
				return j.damaged("a change that is cut off")
			}
			doc = slices.Grow(doc[:0], int(n))[:n]
			for i := range doc {
				doc[i] = binary.LittleEndian.Uint64(b[8*i:])
			}
			b = b[8*n:]
			err = add(id, doc, uint32(seconds))
		}
		if err != nil {
			return fmt.Errorf("the frame at byte %d: %w", j.read, err)
		}
		j.writes++
	}
	return nil
}

// hasHole reports whether b, which begins somewhere in a file, has only zeros in some
// sector of it, or up to its end from the begin of one, or from its begin to one.
func hasHole(b []byte, at int64) bool {
	for len(b) > 0 {
		n := min(len(b), sector-int(at%sector))
		if !slices.ContainsFunc(b[:n], func(c byte) bool { return c != 0 }) && n >= frameHead {
			return true
		}
		b, at = b[n:], at+int64(n)
	}
	return false
}
