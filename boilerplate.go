package neardup

import (
	"fmt"
	"io"
	"slices"

	"github.com/neardup/neardup/internal/clean"
	"github.com/neardup/neardup/internal/format"
	"github.com/neardup/neardup/internal/lex"
)

// Boilerplate is a set of lines that are common in a collection: menus, footers,
// licences, letterheads. A [Normalizer] leaves them out. It is made by a
// [BoilerplateBuilder], does not change, and is safe for concurrent use.
//
// Lines are known by a 64-bit hash of their words, eight bytes each, so a line is
// taken for a common one by mistake with a probability of 2⁻⁶⁴ times their number;
// the hash has no secret. A line that a Normalizer changes is known by what becomes
// of it, so the set serves for the settings with which it was made.
type Boilerplate struct{ clean.Lines }

// A BoilerplateBuilder counts in how many documents each line occurs, so that the
// common ones can be left out. The zero value is ready. It takes about 40 bytes
// of memory for each distinct line: of a very large collection, add a sample. It
// is not safe for concurrent use; give each worker its own and merge them.
type BoilerplateBuilder struct {
	// Normalizer is applied to the documents: the one that is to leave the lines
	// out, as its earlier steps change the lines. Its own Boilerplate is ignored.
	Normalizer Normalizer

	documents uint32
	lines     map[uint64]lineCount
}

type lineCount struct{ documents, last uint32 }

// Add counts the lines of a document. The order of the documents does not matter.
func (b *BoilerplateBuilder) Add(text string) {
	if b.lines == nil {
		b.lines = make(map[uint64]lineCount)
	}
	b.documents++
	n := b.Normalizer
	n.Boilerplate = nil
	lines := n.steps().Stream()
	lines.Each = func(line []byte) {
		if h, ok := clean.LineHash(line); ok {
			if c := b.lines[h]; c.last != b.documents {
				b.lines[h] = lineCount{c.documents + 1, b.documents}
			}
		}
	}
	for len(text) > 0 { // the lines are not kept
		piece := text[:min(len(text), maxPiece)]
		text = text[len(piece):]
		lines.Write(lex.Bytes(piece), false)
	}
	lines.Write(nil, true)
}

// Merge adds what other has counted in other documents.
func (b *BoilerplateBuilder) Merge(other *BoilerplateBuilder) {
	if b.lines == nil {
		b.lines = make(map[uint64]lineCount)
	}
	for h, c := range other.lines {
		b.lines[h] = lineCount{documents: b.lines[h].documents + c.documents}
	}
	b.documents += other.documents
}

// Documents returns the number of documents that were added.
func (b *BoilerplateBuilder) Documents() int { return int(b.documents) }

// Build returns the lines that occur in at least min documents. Copies of one
// document have all their lines in common, so min should be larger than the
// largest group of near-duplicates that is expected, and add equal texts only once.
// Less than 2 counts as 2.
func (b *BoilerplateBuilder) Build(min int) *Boilerplate {
	common := &Boilerplate{}
	for h, c := range b.lines {
		if int64(c.documents) >= int64(max(min, 2)) {
			common.Sorted = append(common.Sorted, h)
		}
	}
	slices.Sort(common.Sorted)
	return common
}

// Len returns the number of lines.
func (b *Boilerplate) Len() int { return len(b.Sorted) }

// WriteTo writes b in a checksummed binary form for [ReadBoilerplate].
func (b *Boilerplate) WriteTo(w io.Writer) (int64, error) {
	f := format.NewWriter(w, "boilerplate", fmt.Sprintf("neardup=%d", lexVersion))
	for _, h := range b.Sorted {
		f.Uint64(h)
		f.EndRecord()
	}
	err := f.Close()
	return f.To.N, err
}

// ReadBoilerplate reads what [Boilerplate.WriteTo] wrote. Errors are those of
// [ReadFingerprints], and it reads to the end of r too.
func ReadBoilerplate(r io.Reader) (*Boilerplate, error) {
	f, err := format.NewReader(r, "boilerplate", fmt.Sprintf("neardup=%d", lexVersion), "collect the lines again")
	if err != nil {
		return nil, err
	}
	b := &Boilerplate{}
	for f.Next() {
		h := f.Uint64()
		if n := len(b.Sorted); n > 0 && h <= b.Sorted[n-1] {
			f.Fail("lines are not in order")
			break
		}
		b.Sorted = append(b.Sorted, h)
	}
	if f.Err != nil {
		return nil, f.Err
	}
	return b, nil
}
