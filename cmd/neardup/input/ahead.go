package input

import (
	"bufio"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
)

// This file reads large plain files by several goroutines, since one alone gets 1 to 2 GB a second out of the system's memory. Each goroutine reads pieces of
// the file into blocks of memory, which become those of a LineReader, so nothing is copied but the line that a piece ends in.

const (
	leastAhead = 1 << 22 // the size of a file that is worth it
	atOnce     = 4       // pieces that are read at once: few, since they have to be copied from one memory
	mostAhead  = 4       // files that are read so at once; others have processors of their own
)

// ahead counts the files that are read ahead.
var ahead atomic.Int32

// A plainFile is a file that is read from its beginning: as a reader, and from some place on in pieces.
type plainFile struct {
	*bufio.Reader               // of file
	sniffed       *bufio.Reader // of that one, in which somebody has looked for the encoding
	file          *os.File
	size          int64
	forgets       bool // the system is to forget what was read
	progress      io.Writer

	begun  bool
	pieces chan chan piece
	quit   chan struct{}
	wg     sync.WaitGroup
}

// A piece is part of a file, in a block of which the first bytes are free.
type piece struct {
	block *[]byte
	n     int
	err   error // io.EOF at the end of the file
}

// pieceAt is where pieces begin in their blocks: before them there is room for a line that has begun before.
const pieceAt = blockRoom - blockSize

// take returns the next piece, or false if the file is to be read otherwise: it is small, or some of it is in the buffer of a reader.
func (p *plainFile) take() (piece, bool) {
	if !p.begun && !p.begin() {
		return piece{}, false
	}
	of := <-<-p.pieces
	p.progress.Write((*of.block)[pieceAt : pieceAt+of.n])
	return of, true
}

// begin begins to read pieces, if it is worth it.
func (p *plainFile) begin() bool {
	if !p.isDrained() || runtime.GOMAXPROCS(0) == 1 {
		return false
	}
	from, err := p.file.Seek(0, io.SeekCurrent)
	if err != nil {
		return false
	}
	if ahead.Add(1) > mostAhead {
		ahead.Add(-1)
		return false
	}
	p.begun, p.pieces, p.quit = true, make(chan chan piece, atOnce), make(chan struct{})
	p.wg.Go(func() {
		for ; ; from += blockSize {
			of, at := make(chan piece, 1), from
			select {
			case p.pieces <- of: // in their order
				go func() { of <- p.read(at) }()
			case <-p.quit:
				return
			}
		}
	})
	return true
}

// isDrained reports whether the file is large, and what the readers of its beginning had read ahead has been taken.
func (p *plainFile) isDrained() bool {
	return p != nil && p.size >= leastAhead && p.Buffered() == 0 && p.sniffed.Buffered() == 0
}

// read reads a piece.
func (p *plainFile) read(at int64) piece {
	of := piece{block: spare.Get().(*[]byte)}
	of.n, of.err = p.file.ReadAt((*of.block)[pieceAt:], at)
	if p.forgets {
		forget(p.file, at, int64(of.n))
	}
	return of
}

// close ends reading. Pieces that nobody has taken are dropped.
func (p *plainFile) close() {
	if p.begun {
		close(p.quit)
		p.wg.Wait()
		close(p.pieces)
		for of := range p.pieces { // which are being read
			spare.Put((<-of).block)
		}
		ahead.Add(-1)
	}
	p.file.Close()
}
