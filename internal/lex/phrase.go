package lex

// ContainsPhrase reports whether one of some phrases stands in a text: units of words with one
// space between them. lengths are those that the phrases have, by their first unit.
func ContainsPhrase(text string, phrases map[string]bool, lengths map[string][]int) bool {
	b := Batches.Get().(*Batch)
	defer Batches.Put(b)
	b.Reset(false, 1)
	for pos := 0; ; {
		if b.full() { // a phrase across the end of a block: keep what it may need
			b.carry(maxPhrase, b.buf)
		}
		pos = b.lex(text, pos)
		if pos == len(text) {
			b.close(0)
		}
		for i := range b.end {
			rest := String(b.buf[b.start[i]:b.end[len(b.end)-1]])
			for _, n := range lengths[rest[:b.end[i]-b.start[i]]] {
				if n <= len(rest) && (n == len(rest) || rest[n] == ' ') && phrases[rest[:n]] {
					return true
				}
			}
		}
		if pos == len(text) {
			return false
		}
	}
}

// maxPhrase is the number of units that phrases may have to be found across the
// blocks that a very long sentence is read in.
const maxPhrase = 64
