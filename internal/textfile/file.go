// Package textfile keeps texts one after the other: in memory, in a temporary file if they do not fit there, or
// in a file that outlives the program. It also says how much memory there is.
package textfile

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"

	"github.com/neardup/neardup/internal/format"
	"github.com/neardup/neardup/internal/lex"
	"github.com/neardup/neardup/internal/store"
)

// A File has texts one after another, each with a checksum of 8 bytes before it, which is seeded with its place.
// It is removed when nobody refers to it any more, unless it has a name. All methods may be called by several
// goroutines.
//
// What is added is first held in blocks of memory. They are written when there are enough of them: at once if the file has a
// name, and otherwise in the background, when they take half of the memory that they may.
//
// A File with a name begins with the head of all files of the library (package format). Nothing in it ever
// changes: texts are only added, and whoever adds them remembers where they are. So what a crash leaves at the
// end is of no use, and does no harm.
type File struct {
	kept  bool  // it has a name
	begin int64 // where the first text is
	most  int64 // bytes in blocks

	mu      sync.RWMutex
	file    *os.File // nil until something is written
	blocks  []*block // what was added, but not written
	busy    int      // so many of them are being written in the background
	ended   chan error
	held    int64 // how many bytes blocks have
	written int64 // how long the file is
	dirty   bool  // some of it may not be on the disk
	failed  error // of the writer of a file with a name: nothing more is added
	err     error // the first one of a reader
}

// A block is some texts that have not been written, each as a whole. Its bytes stay where they are.
type block struct {
	at     int64 // where it is in the file
	bytes  []byte
	filled sync.WaitGroup // by whoever adds to it
}

const (
	sumBytes   = 8
	leastBlock = 1 << 12
	mostBlock  = 1 << 20 // of more than one text
)

// Temporary makes an empty file that is in memory until it has more than most bytes, and then in the folder for temporary
// files. There it is removed at once where that is possible, so that nobody sees it and nothing is left behind, and otherwise
// when nobody refers to it any more.
func Temporary(most int64) *File { return &File{most: most} }

// create makes the temporary file.
func (f *File) create() error {
	file, err := os.CreateTemp("", "neardup-*")
	if err != nil {
		return fmt.Errorf("neardup: cannot create a temporary file for texts that do not fit in memory: %w", err)
	}
	if os.Remove(file.Name()) != nil {
		runtime.AddCleanup(f, func(file *os.File) {
			file.Close()
			os.Remove(file.Name())
		}, file)
	}
	f.file = file
	return nil
}

// Create makes an empty file with a name, and replaces any other that has it.
func Create(path, kind, version string) (*File, error) {
	err := store.ReplaceFile(path, func(w *bufio.Writer) error {
		head := format.NewWriter(w, kind, version)
		return cmp.Or(head.W.Flush(), head.Err)
	})
	if err != nil {
		return nil, err
	}
	return Open(path, kind, version, "")
}

// Open opens a file that Create made. again is advice for an error about a file of another version.
func Open(path, kind, version, again string) (*File, error) {
	if err := isFile(path); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	f := &File{file: file, kept: true, dirty: true, most: mostBlock}
	var head *format.Reader
	if head, err = format.NewReader(file, kind, version, again); err == nil {
		at, failed := file.Seek(0, io.SeekCurrent)
		f.begin = at - int64(head.R.Buffered())
		f.written, err = file.Seek(0, io.SeekEnd)
		err = cmp.Or(failed, err)
	}
	if err != nil {
		return nil, errors.Join(f.named(err), f.Close())
	}
	return f, nil
}

// isFile returns an error for what is there and is no file: a pipe, from which a reader would wait for ever, or a link to
// nothing.
func isFile(path string) error {
	if _, err := os.Lstat(path); err != nil {
		return nil // opening it says what is wrong
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return store.InFile(path, errors.New("it is a broken link"))
	case !info.Mode().IsRegular():
		return store.InFile(path, errors.New("it is not a regular file"))
	}
	return nil
}

// Append adds a text and returns where it is. After an error the text is not there, but what was added before is. If the file has
// a name, nothing more can be added then.
func (f *File) Append(text string) (at int64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	size := Bytes(len(text))
	if at, err = f.next(size); err == nil {
		room := f.room(size)
		copy(room[sumBytes:], text)
		binary.LittleEndian.PutUint64(room, format.Checksum(room[sumBytes:], uint64(at)))
	}
	return at, err
}

// AppendAll is Append for texts of these sizes, one after the other. If they are long, several goroutines call fill, with the number of a text and
// the bytes to write it to. fill must not use the file.
func (f *File) AppendAll(sizes []int, fill func(i int, to []byte)) (places []int64, err error) {
	type job struct {
		of       *block
		from, to int // texts
		size     int64
	}
	jobs := []job{{}}
	places, all := make([]int64, len(sizes)), int64(0)
	for i, n := range sizes {
		j := &jobs[len(jobs)-1]
		if j.to > j.from && j.size+Bytes(n) > mostBlock/8 {
			jobs = append(jobs, job{from: i})
			j = &jobs[len(jobs)-1]
		}
		j.to, j.size = i+1, j.size+Bytes(n)
		places[i] = all
		all += Bytes(n)
	}
	f.mu.Lock()
	first, err := f.next(all)
	if err != nil {
		f.mu.Unlock()
		return nil, err
	}
	for i := range places {
		places[i] += first
	}
	put := func(j *job, room []byte) {
		for i := j.from; i < j.to; i++ {
			text := room[:Bytes(sizes[i])]
			fill(i, text[sumBytes:])
			binary.LittleEndian.PutUint64(text, format.Checksum(text[sumBytes:], uint64(places[i])))
			room = room[len(text):]
		}
	}
	if len(jobs) == 1 {
		defer f.mu.Unlock()
		put(&jobs[0], f.room(all))
		return places, nil
	}
	// Each job makes a block of its own, while others add behind them. How large they are makes no difference.
	var filling sync.WaitGroup
	for k := range jobs {
		j := &jobs[k]
		j.of = &block{at: places[j.from]}
		j.of.filled.Add(1)
		f.blocks = append(f.blocks, j.of)
		filling.Go(func() {
			bytes := make([]byte, j.size)
			put(j, bytes)
			f.mu.Lock()
			defer f.mu.Unlock()
			j.of.bytes = bytes
			j.of.filled.Done()
		})
	}
	f.held += all
	f.mu.Unlock()
	filling.Wait()
	return places, nil
}

// next returns where the next so many bytes will be. It has what was added before written if both take too much memory. The caller holds the lock,
// which is given away meanwhile.
func (f *File) next(size int64) (at int64, err error) {
	for f.failed == nil && err == nil {
		switch {
		case f.held == 0 || f.held+size <= f.most/2:
			return f.written + f.held, nil
		case f.kept && f.held+size > f.most:
			err = f.write()
		case f.kept:
			return f.written + f.held, nil
		case f.busy == 0:
			err = f.start()
		case f.held+size <= f.most:
			return f.written + f.held, nil
		default:
			err = f.wait()
		}
	}
	return 0, cmp.Or(err, f.failed)
}

// room returns memory for the next so many bytes of the file.
func (f *File) room(size int64) []byte {
	n := len(f.blocks)
	if n == f.busy || int64(cap(f.blocks[n-1].bytes)-len(f.blocks[n-1].bytes)) < size {
		f.blocks = append(f.blocks, &block{at: f.written + f.held, bytes: make([]byte, 0, max(size, min(max(f.held, leastBlock), mostBlock)))})
		n++
	}
	b := f.blocks[n-1]
	from := len(b.bytes)
	b.bytes = b.bytes[:from+int(size)]
	f.held += size
	return b.bytes[from:]
}

// AppendBytes is Append for bytes.
func (f *File) AppendBytes(b []byte) (at int64, err error) { return f.Append(lex.String(b)) }

// Cut drops the texts from a place on, in a file without a name, so that the next one goes there. Nobody may be reading them.
func (f *File) Cut(at int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.busy > 0 {
		f.wait() // an error is that of whoever adds next
	}
	for n := len(f.blocks); n > 0 && f.blocks[n-1].at >= at; n-- {
		f.held -= int64(len(f.blocks[n-1].bytes))
		f.blocks = f.blocks[:n-1]
	}
	if n := len(f.blocks); n > 0 && at < f.written+f.held {
		b := f.blocks[n-1]
		f.held -= b.at + int64(len(b.bytes)) - at
		f.blocks[n-1] = &block{at: b.at, bytes: b.bytes[: at-b.at : at-b.at]} // others may still look at what was there
	}
	f.written = min(f.written, at)
}

// write writes what was added. The caller holds the lock.
func (f *File) write() error {
	for f.busy > 0 {
		if err := f.wait(); err != nil {
			return err
		}
	}
	if f.held == 0 || f.failed != nil {
		return f.failed
	}
	if err := f.start(); err != nil {
		return err
	}
	return f.wait()
}

// start begins to write what was added. The caller holds the lock, and nothing is being written.
func (f *File) start() error {
	if f.file == nil {
		if err := f.create(); err != nil {
			return err
		}
	}
	f.dirty = true
	blocks, ended := f.blocks[:len(f.blocks):len(f.blocks)], make(chan error, 1)
	f.busy, f.ended = len(blocks), ended
	go func() {
		var err error
		size := int64(0)
		for _, b := range blocks { // the system lets one goroutine at a time write to a file
			b.filled.Wait()
			f.mu.RLock()
			bytes := b.bytes
			f.mu.RUnlock()
			if err == nil {
				_, err = f.file.WriteAt(bytes, b.at)
			}
			size += int64(len(bytes))
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.busy = 0; err != nil {
			if err = f.named(err); f.kept {
				f.failed = err
			}
		} else {
			f.written += size
			f.blocks, f.held = f.blocks[len(blocks):], f.held-size
		}
		ended <- err
	}()
	return nil
}

// wait waits until what is being written is, and returns the error, which one caller gets. The caller holds the lock, which is given away meanwhile.
func (f *File) wait() error {
	ended := f.ended
	f.mu.Unlock()
	err, ok := <-ended
	if ok {
		close(ended)
	}
	f.mu.Lock()
	return err
}

// named says which file has an error.
func (f *File) named(err error) error {
	if f.file == nil {
		return err
	}
	return store.InFile(f.file.Name(), err)
}

// Write writes what was added. It then survives the end of the program, but not a crash of
// the machine.
func (f *File) Write() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.write()
}

// Sync writes what was added and, if the file has a name, puts it on the disk. Others read and add
// meanwhile.
func (f *File) Sync() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.kept {
		return f.failed
	}
	if err := f.write(); err != nil || !f.dirty {
		return err
	}
	file, written := f.file, f.written
	f.mu.Unlock() // nobody else waits for the disk
	err := file.Sync()
	f.mu.Lock()
	if err != nil {
		f.failed = f.named(err)
	}
	f.dirty = f.dirty && f.written != written
	return f.failed
}

// Size returns the length of the file, including what has not been written yet.
func (f *File) Size() int64 {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.written + f.held
}

// InMemory reports whether nothing has been written.
func (f *File) InMemory() bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.file == nil
}

// Begin returns where the first text is.
func (f *File) Begin() int64 { return f.begin }

// Bytes returns how much of a file a text of n bytes takes.
func Bytes(n int) int64 { return sumBytes + int64(n) }

// Read returns the text of n bytes at a place. It is in memory that does not change, or in buf, which grows, and is only
// valid until buf is used again. A text that cannot be read is empty, and Err has the error.
func (f *File) Read(at int64, n int, buf *[]byte) string {
	b, err := f.inMemory(at, n)
	if b == nil && err == nil {
		size := int(Bytes(n))
		if cap(*buf) < size {
			*buf = make([]byte, size+size/4)
		}
		b = (*buf)[:size]
		err = f.read(b, at)
	}
	if err != nil {
		f.Fail(err)
		return ""
	}
	return lex.String(b[sumBytes:])
}

// Announce says that a text of n bytes will be read soon, so that whoever reads it waits less for the disk.
func (f *File) Announce(at int64, n int) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if at < f.written && f.file != nil {
		f.readAhead(at, Bytes(n))
	}
}

// inMemory returns a text with its checksum if it has not been written, and otherwise nil.
func (f *File) inMemory(at int64, n int) ([]byte, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if at < f.written {
		return nil, nil
	}
	i, ok := slices.BinarySearchFunc(f.blocks, at, func(b *block, at int64) int { return cmp.Compare(b.at, at) })
	if !ok {
		i--
	}
	if i >= 0 {
		b := f.blocks[i]
		if from := at - b.at; from+Bytes(n) <= int64(len(b.bytes)) {
			return b.bytes[from : from+Bytes(n)], nil
		}
	}
	return nil, fmt.Errorf("%w: no text of %d bytes is at byte %d", format.ErrDamaged, n, at)
}

// read reads a text with its checksum from the file.
func (f *File) read(b []byte, at int64) error {
	if _, err := f.file.ReadAt(b, at); errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: the text at byte %d is cut off", format.ErrDamaged, at)
	} else if err != nil {
		return err
	}
	if binary.LittleEndian.Uint64(b) != format.Checksum(b[sumBytes:], uint64(at)) {
		return fmt.Errorf("%w: the checksum of the text at byte %d does not match", format.ErrDamaged, at)
	}
	return nil
}

// Fail reports that a text that was read is not as it should be. Err then returns the error, as for
// errors of Read.
func (f *File) Fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = cmp.Or(f.err, f.named(err))
}

// Err returns the first error of Read, or nil.
func (f *File) Err() error {
	if f == nil {
		return nil
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.err
}

// Close closes the file. What is not written is lost, so Sync comes before it.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.busy > 0 {
		f.wait()
	}
	if f.file == nil {
		return nil
	}
	return f.file.Close()
}
