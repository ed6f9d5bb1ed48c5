package neardup

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/neardup/neardup/internal/clean"
	"github.com/neardup/neardup/internal/lex"
	"github.com/neardup/neardup/internal/minhash"
)

// A Stream fingerprints a text that is written to it in pieces, of any size and
// cut at any byte, and that need not fit into memory. The fingerprint is that of
// the text in one piece:
//
//	s, err := neardup.NewStream[neardup.Fingerprint64](&f)
//	_, err = io.Copy(s, file)
//	fp := s.Sum()
//
// Its memory is bounded, some hundred kilobytes whatever the text, and a few
// megabytes at worst where a Normalizer makes a text longer; only a [Weight] that is not
// linear needs some 30 to 150 bytes for each distinct feature of the text. A Stream can
// be used for one text after the other, but not by several goroutines at once.
type Stream[F Fingerprint] struct{ textStream }

// NewStream returns a Stream of fingerprints of f, which must not be changed any
// more. A tokenizer that is not of this package cannot be used, as nothing is
// known of where it would let a text be cut: cut the text where it would, and add
// the pieces to one accumulator ([Fingerprinter.Accumulate64]).
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

func canStream(f *Fingerprinter) error {
	if err := f.Normalizer.check(); err != nil {
		return err
	}
	if sourceOf(f.tokenizer()) == nil {
		return fmt.Errorf("neardup: a %T cannot read a text in pieces", f.Tokenizer)
	}
	return nil
}

// Sum returns the fingerprint of what was written, and ends the text: what is
// written next begins another one.
func (s *Stream[F]) Sum() F {
	r := s.end()
	r.finish()
	fp := r.sum128()
	return fromWords[F](fp.Lo, fp.Hi)
}

// A SignatureStream is a [Stream] of MinHash signatures.
type SignatureStream struct {
	textStream
	minhash   MinHash
	signature Signature // so far
}

// NewSignatureStream returns a SignatureStream of signatures of f, see [Fingerprinter.Sign].
// f must not be changed any more. A tokenizer that is not of this package cannot be used: cut
// the text where it would, and merge the signatures of the pieces.
func NewSignatureStream(f *Fingerprinter, m MinHash) (*SignatureStream, error) {
	if err := canStream(f); err != nil {
		return nil, err
	}
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("neardup: MinHash: %w", err)
	}
	s := &SignatureStream{textStream{f: *f, purpose: toHash}, m, m.empty()}
	s.take = func(hashes []uint64) { minhash.Add(s.signature, hashes, s.minhash.Permutations) }
	return s, nil
}

// Sum returns the signature of what was written, and ends the text: what is written next
// begins another one.
func (s *SignatureStream) Sum() Signature {
	r := s.end()
	r.finish()
	r.release()
	signature := s.signature
	minhash.Borrow(signature)
	s.signature = s.minhash.empty()
	return signature
}

// A textStream reads a text in pieces.
type textStream struct {
	f       Fingerprinter
	purpose purpose
	take    func(hashes []uint64)
	norm    *clean.Stream // nil if texts are not rewritten
	r       *reading      // of the text, once it has begun

	cut [utf8.UTFMax]byte // the beginning of a character that a piece ended in
	n   int               // its length
}

// Write takes in the next piece of the text. It takes all of it and never fails.
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

// end ends the text, and returns what has read it.
func (s *textStream) end() *reading {
	s.rewrite(nil, true)
	s.read(s.cut[:s.n], true)
	r := s.r
	s.norm, s.r, s.n = nil, nil, 0
	return r
}

// maxPiece is the longest piece that is worked on at a time, whatever is written.
const maxPiece = 64 << 10

// rewrite normalises a piece.
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

// write cuts the text where a character ends.
func (s *textStream) write(p []byte) {
	for s.n > 0 && len(p) > 0 {
		s.cut[s.n] = p[0]
		p = p[1:]
		// What was no character after all may leave the beginning of another.
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

// read takes in a piece that ends with a character.
func (s *textStream) read(piece []byte, last bool) {
	if s.r == nil {
		s.r = s.f.reading(s.purpose).open()
		s.r.take = s.take
	}
	s.r.read(lex.String(piece), last)
}
