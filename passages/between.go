package passages

import (
	"cmp"
	"iter"
	"math/bits"
	"slices"
)

// This file finds what two texts have in common, without an index.
//
// A shared run begins at two places before which the texts differ. So the grams of one text are sorted by their
// keys, and those with the same key by the token before them. For each gram of the other text, the places with
// the same key and another token before are beginnings, and all others are skipped at once. How far a run goes
// is found by comparing hashes of prefixes. So the time is that of sorting, and a logarithmic number of steps
// for each run that is found, even for texts that repeat one word.

// A Run is a run of tokens that two texts share. It cannot be made longer at either end.
type Run struct {
	FromA, ToA int // the bytes in the first text
	FromB, ToB int // the bytes in the second text
	Tokens     int
}

// Between yields all longest runs of at least this length that two texts share, for every place in both, in the
// order of the second text. Repetitive texts have many of them: a word that occurs m times in a row in one and
// n times in the other makes m+n−1 runs, and a paragraph that occurs m and n times between other words makes
// m·n. It returns an error for a length that is out of range, and for a text of 2 GB or more.
func Between(a, b string, length Length) (iter.Seq[Run], error) {
	length, err := length.checked(a, b)
	if err != nil {
		return nil, err
	}
	return func(yield func(Run) bool) {
		var x, y tokenized
		x.Read(a, true)
		y.Read(b, true)
		newMatcher(&x, length).runs(&y, func(i, j, n int) bool { return yield(runOf(&x, &y, i, j, n)) })
	}, nil
}

// checked returns the length with its defaults, and an error if a text is too long to be compared.
func (l Length) checked(texts ...string) (Length, error) {
	for _, text := range texts {
		if len(text) > mostBytes {
			return l, errTooLong
		}
	}
	return l.WithDefaults()
}

// runOf returns the run of n tokens from two places on.
func runOf(a, b *tokenized, i, j, n int) Run {
	return Run{int(a.From[i]), int(a.To[i+n-1]), int(b.From[j]), int(b.To[j+n-1]), n}
}

// A matcher finds runs that a text shares with others. Building it takes the time of sorting the text; a search
// builds one for its text and compares it with many documents. It does not change afterwards.
type matcher struct {
	length Length
	text   *tokenized
	prefix prefixes
	grams  []gram        // ascending by key, token before and place
	next   []int32       // for each, where those with another key or another token before begin
	first  map[key]int32 // where those with a key begin
}

// A gram is one place of a gram in the text of a matcher.
type gram struct {
	key
	before uint64 // the token before it; 0 at the beginning of the text
	at     int32  // its first token
}

func compareGrams(a, b gram) int {
	return cmp.Or(cmp.Compare(a.Hi, b.Hi), cmp.Compare(a.Lo, b.Lo), cmp.Compare(a.before, b.before), cmp.Compare(a.at, b.at))
}

// before returns the token before a place, or 0 at the beginning of a text. A run always begins there, so 0 is
// never taken for a token that both texts have.
func before(t *tokenized, i int) uint64 {
	if i == 0 {
		return 0
	}
	return t.Hashes[i-1]
}

// newMatcher returns a matcher for a text, which must not change.
func newMatcher(t *tokenized, length Length) *matcher {
	m := &matcher{length: length, text: t, prefix: newPrefixes(t.Hashes)}
	for i, end := range length.ends(t, nil) {
		m.grams = append(m.grams, gram{keyOf(t.Hashes[i:end]), before(t, i), int32(i)})
	}
	slices.SortFunc(m.grams, compareGrams)
	// From the end to the beginning, so that each gram takes over what the one after it knows.
	m.next, m.first = make([]int32, len(m.grams)), make(map[key]int32)
	for i := len(m.grams) - 1; i >= 0; i-- {
		g := m.grams[i]
		m.next[i] = int32(i + 1)
		if i+1 < len(m.grams) && m.grams[i+1].key == g.key && m.grams[i+1].before == g.before {
			m.next[i] = m.next[i+1]
		}
		m.first[g.key] = int32(i)
	}
	return m
}

// runs calls yield with all runs that another text shares with that of the matcher: where they begin in the two
// texts, and how many tokens they have, until it returns false.
func (m *matcher) runs(other *tokenized, yield func(i, j, n int) bool) {
	var prefix prefixes // made when it is needed: most texts share nothing
	for j, end := range m.length.ends(other, nil) {
		k := keyOf(other.Hashes[j:end])
		at, ok := m.first[k]
		if !ok {
			continue
		}
		previous := before(other, j)
		for int(at) < len(m.grams) && m.grams[at].key == k {
			g := m.grams[at]
			if g.before == previous && previous != 0 {
				at = m.next[at] // none of these begins a run
				continue
			}
			if prefix.sums == nil {
				prefix = newPrefixes(other.Hashes)
			}
			if !yield(int(g.at), j, m.prefix.common(int(g.at), &prefix, j, int(end)-j)) {
				return
			}
			at++
		}
	}
}

// covered returns the tokens of the text of the matcher, and of another text, that are in any run. Unlike runs, of
// which there may be m·n, it takes linear time: a token is in a run if it is in a gram that the other text has.
func (m *matcher) covered(other *tokenized) (a, b spans) {
	isHit := make([]bool, len(m.grams)) // the first gram with a key
	for j, end := range m.length.ends(other, nil) {
		if at, ok := m.first[keyOf(other.Hashes[j:end])]; ok {
			isHit[at] = true
			b = append(b, span{j, int(end)})
		}
	}
	ends := m.length.ends(m.text, nil)
	is := false
	for i, g := range m.grams {
		if i == 0 || m.grams[i-1].key != g.key {
			is = isHit[i]
		}
		if is {
			a = append(a, span{int(g.at), int(ends[g.at])})
		}
	}
	return a, b
}

// prefixes has hashes of all prefixes of a text, from which those of all its runs follow: a polynomial of the
// tokens over the numbers below the prime 2⁶¹−1 (Karp and Rabin 1987). The hash of any run takes constant time.
// It says only where a run ends; that at least a gram is shared, the keys have shown.
type prefixes struct {
	sums   []uint64 // of the first i tokens
	powers []uint64 // of the base
}

const (
	prime = 1<<61 - 1
	base  = 0x0D6E8FEB86659FD9 // any number below the prime
)

// times returns a product modulo the prime, of which 2⁶¹ is 1.
func times(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return plus(lo&prime, hi<<3|lo>>61)
}

// plus returns a sum modulo the prime of two numbers that are at most the prime.
func plus(a, b uint64) uint64 {
	if a += b; a >= prime {
		a -= prime
	}
	return a
}

func newPrefixes(hashes []uint64) prefixes {
	p := prefixes{make([]uint64, 1, len(hashes)+1), make([]uint64, 1, len(hashes)+1)}
	p.powers[0] = 1
	for i, h := range hashes {
		p.sums = append(p.sums, plus(times(p.sums[i], base), plus(h&prime, h>>61)))
		p.powers = append(p.powers, times(p.powers[i], base))
	}
	return p
}

// of returns the hash of n tokens.
func (p *prefixes) of(from, n int) uint64 {
	return plus(p.sums[from+n], prime-times(p.sums[from], p.powers[n]))
}

// common returns how many tokens are equal from two places on, of which n are known to be. The steps double as
// long as they match and are then halved, so it takes time for the logarithm of what is equal beyond n.
func (p *prefixes) common(i int, q *prefixes, j, n int) int {
	most := min(len(p.sums)-1-i, len(q.sums)-1-j)
	step := 16
	for n+step <= most && p.of(i+n, step) == q.of(j+n, step) {
		n += step
		step *= 2
	}
	for step = min(step, most-n); step > 0; {
		// n are equal, and less than n+step+1.
		half := (step + 1) / 2
		if p.of(i+n, half) == q.of(j+n, half) {
			n, step = n+half, step-half
		} else {
			step = half - 1
		}
	}
	return n
}
