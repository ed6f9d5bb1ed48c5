package neardup

import (
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/neardup/neardup/internal/clean"
	"github.com/neardup/neardup/internal/lex"
	"github.com/neardup/neardup/internal/minhash"
)

// This file reads texts in pieces, which may end anywhere. A piece passes three stages, which keep what they need of it: the rest
// of a line, of a character, of a feature. So the result does not depend on where the text was cut.
//
//	Write ─ rewrite (Normalizer) ─ write (cut after a character) ─ read (extractor, see extract.go)

// A Stream fingerprints a text that is written to it in pieces. The pieces may have any size and
// end at any byte, and the text need not fit into memory. The fingerprint is that of the whole
// text:
//
//	s, err := neardup.NewStream[neardup.Fingerprint64](&f)
//	_, err = io.Copy(s, file)
//	fp := s.Sum()
//
// Memory is bounded by a few hundred kilobytes, whatever the text, or a few megabytes at worst if a
// Normalizer makes the text longer. Only a [Weight] that is not linear needs more: 30 to 150 bytes
// for each distinct feature of the text. A Stream can read one text after the other. It is not safe
// for concurrent use.
type Stream[F Fingerprint] struct{ textStream }

// NewStream returns a Stream for fingerprints of f. It copies f, but what f refers to must not
// change.
//
// A tokenizer that is not of this package is an error, because it is unknown where a text may be cut for
// it: cut the text yourself and add the parts to one accumulator ([Fingerprinter.Accumulate64]).
// [Markers] with Sentence are an error too, because they need the
// whole text, and so is a Fingerprinter that [Fingerprinter.Version] would refuse for its
// Normalizer or Weight.
func NewStream[F Fingerprint](f *Fingerprinter) (*Stream[F], error) {
	if err := canStream(f); err != nil {
		return nil, err
	}
	of := f.features()
	if err := checkWeight(f.Weight, &of, true); err != nil {
		return nil, err
	}
	if needsOf(f.Weight)&needsMarked != 0 {
		return nil, errors.New("neardup: Markers by sentence cannot weigh a text in pieces")
	}
	purpose := toSum64
	if width[F]() == 128 {
		purpose = toSum128
	}
	return &Stream[F]{textStream{f: *f, purpose: purpose}}, nil
}

// canStream returns an error if texts cannot be read in pieces with f.
func canStream(f *Fingerprinter) error {
	if err := f.Normalizer.check(); err != nil {
		return err
	}
	if sourceOf(f.tokenizer()) == nil {
		return fmt.Errorf("neardup: a %T cannot read a text in pieces", f.Tokenizer)
	}
	return nil
}

// Sum returns the fingerprint of what was written, and ends the text: the next Write begins another.
func (s *Stream[F]) Sum() F {
	r := s.end()
	r.finish()
	fp := r.sum128()
	return fromWords[F](fp.Lo, fp.Hi)
}

// SignReader returns the MinHash signature of the text that r reads: what [Fingerprinter.Sign] returns for the whole text,
// which need not fit into memory. A tokenizer that is not of this package is an error: cut the text yourself, and merge the
// signatures of the parts ([Signature.Merge]). So are a bad Normalizer, a bad MinHash, and any
// error of r except [io.EOF].
func (f *Fingerprinter) SignReader(r io.Reader, m MinHash) (Signature, error) {
	if err := canStream(f); err != nil {
		return nil, err
	}
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("neardup: MinHash: %w", err)
	}
	signature := m.empty()
	s := &textStream{f: *f, purpose: toHash, take: func(hashes []uint64) { minhash.Add(signature, hashes, m.Permutations) }}
	_, err := io.Copy(s, r)
	x := s.end() // also after an error, so that what the text took is given back
	x.finish()
	x.release()
	minhash.Borrow(signature)
	return signature, err
}

// A textStream reads one text after another in pieces.
type textStream struct {
	f       Fingerprinter
	purpose purpose
	take    func(hashes []uint64) // gets the hashes, for signatures
	norm    *clean.Stream         // nil if texts are not rewritten, and before a text
	r       *extractor            // nil before a text

	// The beginning of a character that the last piece ended in: n bytes of it.
	cut [utf8.UTFMax]byte
	n   int
}

// Write takes the next piece of the text. It always takes all of it and returns no error. It does
// not keep p.
func (s *textStream) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := min(len(rest), maxPiece)
		s.rewrite(rest[:n], false)
		rest = rest[n:]
	}
	return len(p), nil
}

// WriteString is Write for a string.
func (s *textStream) WriteString(p string) (int, error) {
	return s.Write(lex.Bytes(p))
}

// end ends the text, and returns the extractor, which the caller must finish and release.
func (s *textStream) end() *extractor {
	s.rewrite(nil, true)
	s.read(s.cut[:s.n], true)
	r := s.r
	s.norm, s.r, s.n = nil, nil, 0
	return r
}

// maxPiece is the length up to which a piece is processed at once, so that the buffers stay small.
const maxPiece = 64 << 10

// rewrite normalises a piece and passes it on.
func (s *textStream) rewrite(p []byte, last bool) {
	steps := s.f.Normalizer.steps()
	if steps == (clean.Steps{}) {
		s.write(p)
		return
	}
	if s.norm == nil {
		s.norm = steps.Stream()
	}
	s.write(s.norm.Write(p, last))
}

// write passes on as much of a piece as ends with a character, and keeps the rest.
func (s *textStream) write(p []byte) {
	for s.n > 0 && len(p) > 0 {
		s.cut[s.n] = p[0]
		p = p[1:]
		// The bytes kept may turn out to be no character (invalid UTF-8). Then the first of them is
		// passed on, and the others may still begin a character.
		for s.n++; s.n > 0 && utf8.FullRune(s.cut[:s.n]); {
			_, size := utf8.DecodeRune(s.cut[:s.n])
			s.read(s.cut[:size], false)
			s.n = copy(s.cut[:], s.cut[size:s.n])
		}
	}
	n := lex.Partial(p)
	s.read(p[:len(p)-n], false)
	s.n += copy(s.cut[s.n:], p[len(p)-n:])
}

// read passes a piece that ends with a character to the extractor.
func (s *textStream) read(piece []byte, last bool) {
	if s.r == nil {
		s.r = s.f.extractor(s.purpose).open()
		s.r.take = s.take
	}
	s.r.read(lex.String(piece), last)
}
