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

// A journal has the changes of a store since its snapshot. It begins with the head of all files of
// the library (package format) and goes on with frames:
//
//	length    4 bytes, little-endian: of the changes
//	check     4 bytes: of the length
//	changes   as long
//	checksum  8 bytes
//
// Each check and each checksum is seeded with the checksum before, the first ones with the checksum
// of the head. The first frame has the identity of the snapshot instead of changes.
//
// Two kinds of frames are dropped without an error, because a killed writer or a power failure
// leaves them at the end, before the writer has said that they are on the disk. The first kind is a
// frame whose end is missing. The second kind has zeros where whole sectors should be: file systems
// leave such holes when the power fails. But if a whole frame follows anywhere behind a hole, that
// frame was on the disk, and so the hole is damage. Anything else that does not fit is damage, too.
// What is dropped is kept in lost, so that it can be said: nothing in a journal tells a frame that was never on the disk
// from the last frames of a disk that has lost them later.
//
// A change is one of these, where seconds, lengths and numbers are unsigned varints:
//
//	addition  1, seconds, length of the id, id, words of the document
//	deletion  2, length of the id, id
//
// If documents differ in length, the number of words comes before the words. A word has 8 bytes,
// little-endian.
type journal struct {
	File   *os.File     // opened for appending
	Frame  []byte       // the frame that is being filled; empty if there are no changes in it
	Sum    uint64       // the last checksum
	before func() error // is called before a frame is written; nil: nothing is
	dirty  bool         // the file may have data that is not on the disk
	busy   bool         // somebody puts frames on the disk, so nobody else may write
	full   []byte       // the frames that were filled meanwhile
	read   int64        // where the frame that is being read begins
	writes int          // number of changes in the journal
	lost   error        // what was dropped when it was read; nil: nothing was
}

const (
	ChangeAdd    = 1 // the kinds of changes
	ChangeDelete = 2
	frameSize    = 1 << 16 // a frame is written when it has as many bytes,
	largeFrame   = 1 << 20 // or as many if something is called before
	frameHead    = 8       // bytes of length and check
	maxFrame     = 1 << 30 // the most bytes of changes in a frame
	sector       = 512     // bytes that a disk writes at once
)

// lengthCheck returns the check of the length of a frame. It keeps a reader from trusting a damaged
// length, and tells frames from other data (see frameBehind).
func lengthCheck(length []byte, sum uint64) uint32 { return uint32(xxh3.HashSeed(length, sum)) }

// CreateJournal makes an empty journal of a snapshot, and replaces any other journal. The new one
// is on the disk as a whole when it gets its name.
func CreateJournal(path, version, kind string, snapshot uint64) (*journal, error) {
	var head bytes.Buffer
	f := format.NewWriter(&head, kind, version)
	f.W.Flush()
	j := &journal{Sum: f.Sum}
	j.Frame = binary.LittleEndian.AppendUint64(j.Begin(), snapshot)
	head.Write(j.End())
	err := ReplaceFile(path, func(w *bufio.Writer) error {
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

// Begin returns an empty frame with room for its head. Changes are appended to it.
func (j *journal) Begin() []byte { return append(j.Frame[:0], make([]byte, frameHead)...) }

// End completes the frame with its head and its checksum, and returns it.
func (j *journal) End() []byte {
	binary.LittleEndian.PutUint32(j.Frame, uint32(len(j.Frame)-frameHead))
	binary.LittleEndian.PutUint32(j.Frame[4:], lengthCheck(j.Frame[:4], j.Sum))
	j.Sum = format.Checksum(j.Frame[frameHead:], j.Sum)
	j.Frame = binary.LittleEndian.AppendUint64(j.Frame, j.Sum)
	return j.Frame
}

// Add appends an addition. If varied is true, documents differ in length, and the length of this
// one is written. Add writes the frame only when it is long enough; sync puts it on the disk.
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

// change returns the frame that the next change is to be appended to.
func (j *journal) change() []byte {
	if len(j.Frame) == 0 {
		return j.Begin()
	}
	return j.Frame
}

// changed takes the frame with another change, and writes it if it is long enough.
func (j *journal) changed(frame []byte) error {
	j.Frame = frame
	j.writes++
	if len(j.Frame) < frameSize || j.before != nil && len(j.Frame) < largeFrame {
		return nil
	}
	if j.busy {
		j.full = append(j.full, j.End()...)
		j.Frame = j.Frame[:0]
		return nil
	}
	return j.write()
}

// take returns what is to be written, in whole frames, and begins another frame. It is empty if there are no changes. Nothing else may be
// written until it was put.
func (j *journal) take() (frames []byte) {
	frames = j.full
	if len(j.Frame) > 0 {
		frames = append(frames, j.End()...)
	}
	j.full, j.Frame = nil, j.Frame[:0]
	return frames
}

// put puts frames that were taken on the disk, and everything before them. Changes may be added meanwhile, if busy is set.
func (j *journal) put(frames []byte) error {
	if len(frames) > 0 {
		if j.before != nil {
			if err := j.before(); err != nil {
				return err
			}
		}
		if _, err := j.File.Write(frames); err != nil {
			return err
		}
	}
	j.dirty = false
	return j.File.Sync()
}

// write writes the frame. After an error part of it may be in the file, so nothing must be written
// behind it.
func (j *journal) write() error {
	if j.before != nil {
		if err := j.before(); err != nil {
			return err
		}
	}
	_, err := j.File.Write(j.take())
	j.dirty = true
	return err
}

// sync puts all changes on the disk. It does nothing if they are there already.
func (j *journal) sync() error {
	if !j.isDirty() {
		return nil
	}
	return j.put(j.take())
}

// isDirty reports whether there are changes that may not be on the disk.
func (j *journal) isDirty() bool { return j.dirty || len(j.Frame) > 0 || len(j.full) > 0 }

// errOtherSnapshot is the error of a journal that names another snapshot than the one that is
// there.
var errOtherSnapshot = errors.New("it belongs to another snapshot")

// ReadJournal reads a journal and calls add and remove for its changes, in order. It calls accept
// first, with the identity of the snapshot that the journal names, and returns the error of accept.
// The changes of a frame are only looked at when its checksum fits. ReadJournal takes away what a
// killed writer has left at the end. It returns the journal ready for more changes. words is the
// number of words of a document, or 0 if documents differ in length.
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
	frames, err := newFrameReader(f, kind, version, again)
	if err != nil {
		return nil, err
	}
	for j = frames.j; ; frames.first = false {
		changes, ok, err := frames.next()
		if err != nil {
			return nil, err
		}
		if !ok {
			return j, nil
		}
		if frames.first {
			if len(changes) != 8 {
				return nil, j.damaged("it does not name its snapshot")
			}
			if err := accept(binary.LittleEndian.Uint64(changes)); err != nil {
				return nil, err
			}
		} else if err := j.replay(changes, words, add, remove); err != nil {
			return nil, err
		}
		j.read += frameHead + int64(len(changes)) + 8
	}
}

// A frameReader reads the frames of a journal, one after another.
type frameReader struct {
	j     *journal
	r     *bufio.Reader // the file, from where next goes on
	size  int64         // of the file
	first bool          // the frame being read is the first one, which names the snapshot
}

// newFrameReader reads the head of a journal. It returns a reader that stands at the first frame.
func newFrameReader(f *os.File, kind, version, again string) (*frameReader, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	head, err := format.NewReader(f, kind, version, again)
	if err != nil {
		return nil, err
	}
	at, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, err
	}
	// dirty: the writer before may have been killed before it put its last frames on the disk.
	j := &journal{File: f, dirty: true, Sum: head.Sum, read: at - int64(head.R.Buffered())}
	return &frameReader{j: j, r: head.R, size: info.Size(), first: true}, nil
}

// next reads the frame that begins at j.read, and returns its changes if its checksum fits. The
// caller moves j.read behind the frame when it is done with it. ok is false at the end of the
// journal; before, next takes away what a killed writer or a power failure has left there.
func (fr *frameReader) next() (changes []byte, ok bool, err error) {
	j := fr.j
	left := fr.size - j.read
	if left < frameHead {
		if left == 0 && !fr.first {
			return nil, false, nil
		}
		return nil, false, j.cut(fr.first, fr.size, tornFrame)
	}
	var head [frameHead]byte
	if _, err := io.ReadFull(fr.r, head[:]); err != nil {
		return nil, false, err
	}
	if binary.LittleEndian.Uint32(head[4:]) != lengthCheck(head[:4], j.Sum) {
		return nil, false, fr.wrongLength(head[:], left-frameHead)
	}
	n := int64(binary.LittleEndian.Uint32(head[:]))
	if n > maxFrame {
		return nil, false, j.damaged("it is too long")
	}
	if left < frameHead+n+8 {
		return nil, false, j.cut(fr.first, fr.size, tornFrame)
	}
	frame := make([]byte, n+8)
	if _, err := io.ReadFull(fr.r, frame); err != nil {
		return nil, false, err
	}
	changes = frame[:n]
	sum := format.Checksum(changes, j.Sum)
	if binary.LittleEndian.Uint64(frame[n:]) != sum {
		return nil, false, fr.wrongChecksum(append(head[:], frame...))
	}
	j.Sum = sum
	return changes, true, nil
}

// wrongLength handles a frame whose length does not fit its check. It cuts the frame off if a power
// failure left a hole there; anything else is damage. left is the number of bytes behind the head.
func (fr *frameReader) wrongLength(head []byte, left int64) error {
	j := fr.j
	// The length is not known, so neither is the end of the frame. Look for a hole only up to the
	// end of the sector: its bytes were written together with the head.
	rest, _ := fr.r.Peek(int(min(left, -(j.read+frameHead)&(sector-1))))
	if hasHole(append(head, rest...), j.read) {
		return j.cutHole(fr.first, fr.size)
	}
	return j.damaged("the checksum of a length does not match")
}

// wrongChecksum handles a frame whose checksum does not fit. It cuts the frame off if a power
// failure left a hole in it and only zeros follow; anything else is damage.
func (fr *frameReader) wrongChecksum(frame []byte) error {
	j := fr.j
	if !hasHole(frame, j.read) {
		return j.damaged("the checksum does not match")
	}
	for { // behind the frame, only more of the hole may follow
		c, err := fr.r.ReadByte()
		if err == io.EOF {
			return j.cutHole(fr.first, fr.size)
		}
		if err != nil {
			return err
		}
		if c != 0 {
			return j.damaged("a part of it is zeros, and more follows")
		}
	}
}

// cutHole cuts off a frame with a hole, which a power failure has left. But if a whole frame
// follows, that frame was on the disk. Then the hole is damage, and cutHole takes nothing away.
func (j *journal) cutHole(first bool, size int64) error {
	at, err := j.frameBehind(j.read, size)
	if err != nil {
		return err
	}
	if at > 0 {
		return j.damaged(fmt.Sprintf("a part of it is zeros, and whole frames follow, from byte %d on", at))
	}
	return j.cut(first, size, zeroedFrames)
}

// frameBehind looks for a whole frame that begins behind a place in a journal of size bytes. It
// returns where the frame begins, or 0. A frame can be recognised wherever it stands: the 8 bytes
// before it are the checksum of the frame before, and with these as the seed, its check and its
// checksum must fit.
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

// What cut says of the bytes that it takes away.
const (
	tornFrame    = "an unfinished write of a process that was killed. The changes in them were not synced, unless the file was truncated later"
	zeroedFrames = "zeros in part, as a power failure leaves them. Changes in them that were not synced are lost, and if the disk is failing, synced ones too"
)

// cut takes away what follows the last whole frame in a journal of size bytes, and says so in lost. The first frame is
// never cut short by a killed writer, because CreateJournal writes it before the file gets its name. So that is damage.
func (j *journal) cut(first bool, size int64, what string) error {
	if first {
		return j.damaged("it ends early")
	}
	if err := j.File.Truncate(j.read); err != nil {
		return err
	}
	j.lost = fmt.Errorf("%s: %d bytes from byte %d on were dropped: %s", j.File.Name(), size-j.read, j.read, what)
	return nil
}

// damaged returns an ErrDamaged that names the frame being read.
func (j *journal) damaged(what string) error {
	return format.Damaged("the frame at byte %d: %s", j.read, what)
}

// replay calls add and remove for the changes of a frame. Ids and documents are only valid during
// the call.
func (j *journal) replay(b []byte, words int, add func(id []byte, doc []uint64, seconds uint32) error, remove func(id []byte) error) error {
	// uvarint takes a number from b. If there is none, it returns one that no check below accepts.
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
			return j.damaged("a change of an unknown kind")
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

// hasHole reports whether bytes of a file have a hole, which a power failure leaves. b begins at
// the offset at of the file. A hole is the bytes of b that lie in one sector, if all of them are
// zeros. At the ends of b only a part of a sector may be known; a part of less than 8 bytes does
// not count.
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
