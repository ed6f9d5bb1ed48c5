// Package reading reads the sources of a call on all processors.
//
// A source is read block by block ([input.Block]), each by one goroutine that does little more than to count lines or to decompress. Several sources are
// read at once. Workers cut blocks into items and do with them whatever the caller wants. The caller gets the blocks in the order of the
// sources, and of the blocks in them, so nothing depends on how many workers there are or on which source is fast.
//
// What is in memory is bounded: all sources that are ahead of the one whose turn it is may have blocks in a quarter of what a source may take, and
// their decoders together no more than one source alone may. A compressed file is decompressed by one goroutine, so several of them are read as fast as
// all processors can as long as what is ahead fits there.
package reading

import (
	"io"
	"sync"

	"github.com/neardup/neardup/cmd/neardup/input"
)

// A Reader says what is read, and how.
type Reader struct {
	Sources  []input.Source
	First    int // the number of the first source that is read
	Cols     input.Columns
	MaxLine  int
	Workers  int
	Room     int64 // how many bytes what is read may take
	Stdin    io.Reader
	Progress io.Writer // gets what is read as it is in the files, from several goroutines

	// Saved reads a source of the format [input.Fingerprints], with the number n.
	Saved func(s *input.Source, n int, r io.Reader, yield func(input.Item) bool) error
}

// A Block is a block of a source, with what a worker has made of it. The last one of each source has no items.
type Block[T any] struct {
	*input.Block
	Made T
	Last bool
	Err  error // with Last: why the rest of the source cannot be read
	Shut bool  // with Last: and all of it neither, since it cannot be opened

	done chan struct{}
}

const (
	blockBytes = 1 << 20 // what a block takes at most, unless a line is longer
	aheadOf    = 4       // blocks that a source may have before its turn in any case
	aheadShare = 4       // which part of the room is for the blocks of all of them
	perWorker  = 4       // blocks for each worker in the turn of a source
	mostOpen   = 256     // sources that are read at once; a process has about a thousand files
)

// Each calls work with each block, on several goroutines; worker is the number of the goroutine. In the order of the sources and blocks, it calls take
// with what work made of them, on the goroutine of the caller, until take returns an error, which Each returns.
func Each[T any](r *Reader, work func(worker int, b *input.Block) T, take func(b *Block[T]) error) error {
	q := &queues[T]{of: make([][]*Block[T], len(r.Sources)), claims: make([]int64, len(r.Sources)+1), now: r.First, most: r.most(), mostAhead: int(r.Room / aheadShare / blockBytes)}
	q.changed.L = &q.mu
	jobs := make(chan *Block[T], r.Workers)
	var reading, working sync.WaitGroup
	reading.Go(func() {
		for n := r.First; n < len(r.Sources) && q.begin(n, r.claim(n), r.Room); n++ {
			reading.Go(func() {
				shut, err := r.read(n, func(b *input.Block) bool { return q.add(&Block[T]{Block: b}, jobs) })
				q.add(&Block[T]{Block: &input.Block{Source: n}, Last: true, Err: err, Shut: shut}, jobs)
			})
		}
	})
	for worker := range r.Workers {
		working.Go(func() { workOn(jobs, worker, work) })
	}
	var err error
	for n := r.First; n < len(r.Sources) && err == nil; {
		b := q.next(n)
		if <-b.done; b.Last {
			n++
			q.turn(n)
		}
		err = take(b)
	}
	q.stop()
	reading.Wait()
	close(jobs)
	working.Wait()
	return err
}

// workOn is a worker.
func workOn[T any](jobs <-chan *Block[T], worker int, work func(worker int, b *input.Block) T) {
	for b := range jobs {
		b.Cut()
		b.Made = work(worker, b.Block)
		close(b.done)
	}
}

// most returns how many blocks of the source whose turn it is may be in memory.
func (r *Reader) most() int {
	return max(min(perWorker*r.Workers, int(r.Room/blockBytes)), aheadOf, r.Workers)
}

// read reads a source and passes its blocks on, until yield returns false. shut says that it cannot be opened.
func (r *Reader) read(n int, yield func(b *input.Block) bool) (shut bool, err error) {
	s := &r.Sources[n]
	from, closeSource, err := s.Open(r.Stdin, r.Progress)
	if err != nil {
		return true, err
	}
	defer closeSource()
	if s.Format == input.Fingerprints {
		return false, input.InBlocks(n, func(item func(input.Item) bool) error { return r.Saved(s, n, from, item) }, yield)
	}
	return false, s.Blocks(n, from, r.Cols, r.MaxLine, yield)
}

// claim returns how many bytes the decoders of a source may take, roughly.
func (r *Reader) claim(n int) int64 {
	const usual = 1 << 20 // without compression, and with gzip and bzip2
	s := &r.Sources[n]
	switch {
	case !s.Regular():
		return r.Room
	case !input.IsLines(s.Format) && s.Format != "csv" && s.Format != "tsv":
		return min(r.Room, max(usual, decoded*s.Info.Size()))
	case s.IsCompressed():
		return usual + s.Window()
	}
	return usual
}

// decoded is how many times its size a file may take that is not read line by line: Parquet of text has a quarter of its size, and its decoder holds two pages
// of each column besides.
const decoded = 8

// The queues have the blocks of each source that were read, in order, until they are taken.
type queues[T any] struct {
	mu      sync.Mutex
	changed sync.Cond
	of      [][]*Block[T]
	claims  []int64 // of each source that was begun before its turn
	now     int     // the source whose turn it is
	most    int     // blocks that it may have; see [Reader.most]
	ahead   int     // how many sources have been begun before their turn, which has not come
	held    int64   // what they claim
	stopped bool

	mostAhead int // blocks that they may have
}

// begin waits until a source may be begun: in its turn, or when there is room for it ahead of that. It returns false if nobody wants more.
func (q *queues[T]) begin(n int, claim, room int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.stopped && n != q.now && (q.held+claim > room || (q.ahead+1)*aheadOf > q.most || q.ahead >= mostOpen) {
		q.changed.Wait()
	}
	if n != q.now {
		q.claims[n] = claim
		q.ahead++
		q.held += claim
	}
	return !q.stopped
}

// turn says that the turn of a source begins.
func (q *queues[T]) turn(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.now = n; q.claims[n] > 0 { // it is not ahead any more
		q.ahead--
		q.held -= q.claims[n]
	}
	q.changed.Broadcast()
}

// add adds a block when there is room for it, and passes it on to the workers. It returns false if nobody wants more.
func (q *queues[T]) add(b *Block[T], jobs chan<- *Block[T]) bool {
	b.done = make(chan struct{})
	q.mu.Lock()
	for !q.stopped && !b.Last && !q.hasRoom(b.Source) {
		q.changed.Wait()
	}
	stopped := q.stopped
	q.of[b.Source] = append(q.of[b.Source], b)
	q.changed.Broadcast()
	q.mu.Unlock()
	if !stopped {
		jobs <- b
	}
	return !stopped
}

// hasRoom reports whether there is room for another block of a source.
func (q *queues[T]) hasRoom(n int) bool {
	has := len(q.of[n])
	if n == q.now {
		return has < q.most
	}
	if has < aheadOf {
		return true
	}
	all := 0
	for _, of := range q.of[q.now+1 : q.now+1+q.ahead] { // which are begun in their order
		all += len(of)
	}
	return all < q.mostAhead
}

// next takes the next block of a source.
func (q *queues[T]) next(n int) *Block[T] {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.of[n]) == 0 {
		q.changed.Wait()
	}
	b := q.of[n][0]
	q.of[n] = q.of[n][1:]
	q.changed.Broadcast()
	return b
}

// stop ends all reading.
func (q *queues[T]) stop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stopped = true
	q.changed.Broadcast()
}
