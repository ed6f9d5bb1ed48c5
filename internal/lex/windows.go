package lex

// Windows are for tokenizers: their strings may be kept by the user of the library, and they come
// with offsets. A Batch is for hashing: it reuses one buffer, and its texts are gone after the next
// call. Both read their input piece by piece and slide a window of n units over the buffer.

// A Windows yields every window of n consecutive units of one text.
type Windows struct {
	units
	n     int  // units in a window
	first int  // first unit of the next window
	seen  bool // a window was yielded
}

// NewWindows returns a Windows that yields runs of n characters, or of n words. Its offsets are
// always kept.
func NewWindows(chars bool, n int) *Windows {
	return &Windows{units: units{chars: chars, Offsets: true}, n: n}
}

// Feed yields the windows that the next piece of the text completes. start and end delimit the
// bytes of the whole text that a window was made from, ignored characters behind its last unit
// included.
//
// A text of fewer than n units is one window, if it has any unit. The string passed to yield may be
// kept, but shares its memory with up to 16 KiB of its neighbours.
//
// Feed does not keep the piece. A piece must not end inside a character unless it is the last. Feed
// returns false as soon as yield does. It must not be called again then, nor after the last piece.
func (s *Windows) Feed(piece string, last bool, yield func(text string, start, end int) bool) bool {
	// A short text gets a small buffer: folding may make it longer, and words get spaces between
	// them. An estimate that is too low costs another block.
	size := blockSize
	if last {
		size = min(len(piece)+len(piece)/2+2*slack, blockSize)
	}
	for pos := 0; ; {
		if s.full() {
			// Always a new buffer: the caller may still hold strings that point into the old one.
			s.carry(len(s.end)-s.first, make([]byte, size))
			s.first = 0
		}
		pos = s.lex(piece, pos)
		if last && pos == len(piece) {
			s.close(pos)
		}
		for ; s.first+s.n <= len(s.end); s.first++ {
			s.seen = true
			if !yield(s.window(s.first, s.first+s.n-1)) {
				return false
			}
		}
		if pos == len(piece) {
			break
		}
	}
	s.base += len(piece)
	if last && len(s.end) > 0 && !s.seen {
		return yield(s.window(0, len(s.end)-1))
	}
	return true
}

// window returns the text of the units first to last, and the bytes of the text that they come
// from. It needs offsets.
func (u *units) window(first, last int) (text string, start, end int) {
	return String(u.buf[u.start[first]:u.end[last]]), u.from[first], u.to[last]
}
