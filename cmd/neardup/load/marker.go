package load

import (
	"iter"
	"strings"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/corpus"
	"github.com/neardup/neardup/cmd/neardup/options"
	"github.com/neardup/neardup/dedup/shard"
	"github.com/neardup/neardup/internal/minhash"
)

// This file makes what a text is compared by, its mark. It depends on the method.

// A Marker makes marks.
type Marker struct {
	Method        *options.Method
	Fingerprinter *neardup.Fingerprinter
	Signatures    *Signatures   // with minhash: where the signatures of the call go; if nil, marks have them
	Signer        *shard.Signer // with auto and cosine: if set, marks have the signatures that tell which documents can matter to each other
}

// Signatures are those of a call with the method minhash, in memory or in a temporary file.
type Signatures = minhash.Filed

// NewSignatures returns none, which may take as much memory as a call.
func NewSignatures(o *options.Options) *Signatures {
	return minhash.NewFiled(o.Method.MinHash.Values, o.Method.Least, o.Memory)
}

// mark returns the mark of a text. A signature that is to go where those of the call are is returned besides.
func (m *Marker) mark(text string, metadata []string) (k corpus.Mark, sig neardup.Signature) {
	fp := m.Fingerprinter
	switch {
	case m.Method.Name == "given": // nothing is compared
		return k, nil
	case m.Method.IsExact():
		if k.Empty = !hasWord(fp.Normalizer.Normalize(text)); m.Signer != nil {
			levels, _ := m.Signer.Sign(neardup.Text(text)) // a text has no error
			k.More = &corpus.MoreMark{Levels: &levels}
		}
		return k, nil
	case m.Method.Name == "minhash":
		sig = fp.Sign(neardup.Text(text), m.Method.MinHash)
		if k.Empty = minhash.IsEmpty(sig); m.Signatures == nil {
			k.More, sig = &corpus.MoreMark{Signature: sig}, nil
		}
	case m.Method.Bits == 64:
		k = corpus.MarkOf(neardup.Fingerprint128{Lo: uint64(fp.Sum64(neardup.Text(text)))})
	default:
		k = corpus.MarkOf(fp.Sum128(neardup.Text(text)))
	}
	if !m.Method.ByContent {
		var hashes []uint64
		items := neardup.Fingerprinter{Tokenizer: whole{}, Hash: fp.Hash}
		for _, item := range metadata {
			hashes = append(hashes, items.Set(neardup.Text(item))...)
		}
		k.More = &corpus.MoreMark{Metadata: neardup.NewSet(hashes)}
	}
	return k, sig
}

// A signed is a content, and the signature of its text.
type signed struct {
	content *corpus.Content
	sig     neardup.Signature
}

// keep adds signatures to those of the call. The error is that of their temporary file.
func (m *Marker) keep(some []signed) error {
	if len(some) == 0 {
		return nil
	}
	signatures := make([][]uint32, len(some))
	for i := range some {
		signatures[i] = some[i].sig
	}
	places, err := m.Signatures.Add(signatures)
	for i, place := range places {
		some[i].content.Signature = place
	}
	return err
}

// hasWord reports whether a text has letters, digits or emoji.
func hasWord(text string) bool {
	for i := range min(len(text), 100) { // the beginning nearly always tells, and takes no time
		if c := text[i] | 0x20; c-'a' < 26 || text[i]-'0' < 10 {
			return true
		}
	}
	if part := text[:min(len(text), 100)]; part != text && hasWord(strings.ToValidUTF8(part, "")) {
		return true
	}
	for range (neardup.Words{}).Tokens(text) {
		return true
	}
	return false
}

// whole is the tokenizer of metadata: the whole item is one feature.
type whole struct{}

func (whole) Tokens(text string) iter.Seq[neardup.Token] {
	return func(yield func(neardup.Token) bool) { yield(neardup.Token{Text: text, End: len(text)}) }
}
