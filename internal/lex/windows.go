package lex

// A Windows yields windows of n units, the window that is next beginning with
// unit first.
type Windows struct {
	units
	n     int
	first int
	seen  bool // any window
}

func NewWindows(chars bool, n int) *Windows {
	return &Windows{units: units{chars: chars, Offsets: true}, n: n}
}

// Feed yields the windows that the next piece of the text completes, with what they are made
// from. It does not keep the piece, which must not end inside a character unless it is the
// last. It returns false as soon as yield does; it must not be called again then, nor after
// the last piece.
func (s *Windows) Feed(piece string, last bool, yield func(text string, start, end int) bool) bool {
	size := blockSize
	if last {
		size = min(len(piece)+len(piece)/2+2*slack, blockSize)
	}
	for pos := 0; ; {
		if s.full() {
			s.carry(len(s.end)-s.first, make([]byte, size)) // a new block: what was yielded may be kept
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

// window returns the text of some units in a row, and where they stand.
func (u *units) window(first, last int) (text string, start, end int) {
	return String(u.buf[u.start[first]:u.end[last]]), u.from[first], u.to[last]
}
