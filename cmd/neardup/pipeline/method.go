package pipeline

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/dedup/shard"
	"github.com/neardup/neardup/internal/minhash"
	"github.com/neardup/neardup/papers"
)

// This file has the methods minhash and simhash: what a text is compared by (a mark), how pairs of
// marks and groups of marks are found, and the checks of the flags that choose a method. It also
// handles metadata: with them, simhash pairs get a combined score.

// A method says when two documents are near-duplicates.
type method struct {
	Name              string
	Group             string // auto, cosine: what a group is, see linkages
	Keep              string // auto, cosine: which document of a group to keep, see preferences
	weighs            bool   // cosine: --weights was given
	Bits              int    // of fingerprints
	Distance          int    // simhash: the largest distance
	minhash           neardup.MinHash
	signatures        *minhash.Filed // minhash, if documents are compared
	Least             float64        // auto, cosine, minhash: the smallest similarity; 0 lets the probability decide
	Probability, Bias float64        // auto, cosine: the smallest probability, and what is added to the log odds
	Kinds             neardup.Kind   // auto, cosine: the kinds of pairs that count; 0 for the default
	byContent         bool           // whether only the content counts, without metadata
	Blend             papers.Blend
}

// keepSignatures says that documents will be compared, in so much memory, 0 for the usual part of the machine's.
func (m *method) keepSignatures(memory int64) {
	if m.Name == "minhash" {
		m.signatures = minhash.NewFiled(m.minhash.Values, m.Least, memory)
	}
}

// A mark is what a text is compared by. Which fields are used depends on the method.
type mark struct {
	fp    neardup.Fingerprint128 // simhash; with 64 bits only Lo is used
	more  *moreMark              // nil if there is nothing in it
	exact bool                   // auto, cosine: a Deduplicator has the features
	empty bool                   // the text has no features

	signature int64 // minhash: where the signature is in the signatures of the call; 0 if it is in more or there is none
}

// A moreMark is the part of a mark that few methods need.
type moreMark struct {
	sig      neardup.Signature // minhash, if the call keeps no signatures
	metadata neardup.Set
	levels   *shard.Signature // auto, for a table of signatures
}

// mark returns the mark of a text. If signatures are kept, it lacks that of the text, which is returned.
func (m *method) mark(fp *neardup.Fingerprinter, text string, metadata []string) (k mark, sig neardup.Signature) {
	switch {
	case m.Name == "given": // nothing is compared
		return k, nil
	case m.isExact():
		k.exact = true
		k.empty = !hasWord(fp.Normalizer.Normalize(text))
		return k, nil
	case m.Name == "minhash":
		sig = fp.Sign(neardup.Text(text), m.minhash)
		if k.empty = minhash.IsEmpty(sig); m.signatures == nil {
			k.more = &moreMark{sig: sig}
		}
	case m.Bits == 64:
		k = markOf(neardup.Fingerprint128{Lo: uint64(fp.Sum64(neardup.Text(text)))})
	default:
		k = markOf(fp.Sum128(neardup.Text(text)))
	}
	if !m.byContent {
		var hashes []uint64
		items := neardup.Fingerprinter{Tokenizer: whole{}, Hash: fp.Hash}
		for _, item := range metadata {
			hashes = append(hashes, items.Set(neardup.Text(item))...)
		}
		k.more = &moreMark{metadata: neardup.NewSet(hashes)}
	}
	return k, sig
}

// markOf returns the mark of a text with a fingerprint. A text without features has the fingerprint 0.
func markOf(fp neardup.Fingerprint128) mark {
	return mark{fp: fp, empty: fp == neardup.Fingerprint128{}}
}

// isExact reports whether a Deduplicator compares the documents, by exact cosine.
func (m *method) isExact() bool { return m.Name == "auto" || m.Name == "cosine" }

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

// A nearPair is two marks by number, and the value to print with them: a distance, a similarity or
// a score.
type nearPair struct {
	i, j  int
	value float64
}

// pairs yields the pairs of near-duplicates among marks. The function reports an error after the last one.
func (m *method) pairs(marks []*mark) (iter.Seq[nearPair], func() error) {
	if m.signatures != nil {
		var failed error
		return func(yield func(nearPair) bool) {
			places := make([]int64, len(marks))
			for i, k := range marks {
				places[i] = k.signature
			}
			failed = m.signatures.Pairs(places, documentBytes*int64(len(marks)), func(a, b int, jaccard float64) bool {
				return yield(nearPair{a, b, jaccard})
			})
		}, func() error { return failed }
	}
	near := neardup.Pairs(context.Background(), fingerprints64(marks), m.Distance)
	if m.Bits == 128 {
		near = neardup.Pairs(context.Background(), fingerprints128(marks), m.Distance)
	}
	return func(yield func(nearPair) bool) {
		for p := range near {
			value := float64(p.Distance)
			if !m.byContent {
				value = m.Blend.Score(p.Distance, marks[p.A].more.metadata.Jaccard(marks[p.B].more.metadata))
				if !m.Blend.Similar(value) {
					continue
				}
			}
			if !yield(nearPair{p.A, p.B, value}) {
				return
			}
		}
	}, func() error { return nil }
}

// documentBytes is how much of the program a document takes, by measuring.
const documentBytes = 220

// fingerprints64 returns the fingerprints of marks, as 64 bits.
func fingerprints64(marks []*mark) []neardup.Fingerprint64 {
	fps := make([]neardup.Fingerprint64, len(marks))
	for i, k := range marks {
		fps[i] = neardup.Fingerprint64(k.fp.Lo)
	}
	return fps
}

// fingerprints128 returns the fingerprints of marks, as 128 bits.
func fingerprints128(marks []*mark) []neardup.Fingerprint128 {
	fps := make([]neardup.Fingerprint128, len(marks))
	for i, k := range marks {
		fps[i] = k.fp
	}
	return fps
}

// same returns the value of a pair of equal documents: distance 0, or similarity or score 1.
func (m *method) same() float64 {
	if m.Name == "simhash" && m.byContent {
		return 0
	}
	return 1
}

// valueName returns the name of the value of a pair.
func (m *method) valueName() string {
	switch {
	case m.Name != "simhash":
		return "similarity"
	case m.byContent:
		return "distance"
	}
	return "score"
}

// show returns a value as the outputs have it.
func (m *method) show(value float64) string {
	if m.Name == "simhash" && m.byContent {
		return fmt.Sprint(int(value))
	}
	return fmt.Sprintf("%.4f", value)
}

// methodNames has what --method can name.
var methodNames = []string{"auto", "cosine", "minhash", "simhash"}

// methodsOf returns the methods that a flag can be used with.
func methodsOf(name string) []string {
	for _, of := range []struct{ flags, methods string }{
		{"bits distance save metadata content score", "simhash"},
		{"values", "minhash"},
		{"similarity", "auto cosine minhash"},
		{"kinds probability bias", "auto cosine"},
		{"group", "auto cosine minhash simhash"},
		{"tokenizer", "cosine minhash simhash"},
		{"weights stats", "cosine simhash"},
	} {
		if slices.Contains(strings.Fields(of.flags), name) {
			return strings.Fields(of.methods)
		}
	}
	return methodNames
}

// setMethod checks the flags that choose a method, and sets what follows from them. given has the
// names of the flags that the user set. setMethod returns what is wrong, or "".
func (o *Options) setMethod(given map[string]bool) string {
	m := &o.Method
	m.byContent = o.Cols.Metadata == ""
	m.minhash.Values = o.Values
	if !slices.Contains(methodNames, m.Name) {
		return fmt.Sprintf("--method %q: must be auto, cosine, minhash or simhash", m.Name)
	}
	for _, f := range slices.Sorted(maps.Keys(given)) {
		if methods := methodsOf(f); !slices.Contains(methods, m.Name) {
			return fmt.Sprintf("--%s can only be used with --method %s", f, strings.Join(methods, ", "))
		}
	}
	m.weighs = given["weights"]
	if m.Name == "minhash" && !given["similarity"] {
		m.Least = 0.6
	}
	if wrong := m.check(given); wrong != "" {
		return wrong
	}
	if m.Name != "simhash" && input.FormatOf(o.Against, "") == input.Fingerprints {
		return "--against: saved fingerprints can only be used with --method simhash"
	}
	if m.byContent {
		return ""
	}
	switch {
	case slices.Contains(o.Cols.MetadataNames(), ""):
		return "--metadata: a name in the list is empty"
	case given["distance"]:
		return "--distance cannot be used with --metadata: --content and --score determine the distance"
	case o.fingerprintFiles():
		return "--metadata cannot be used with saved fingerprints, which have no metadata"
	}
	m.Distance = m.Blend.MaxDistance(m.Bits)
	return ""
}

// check checks the values of the flags.
func (m *method) check(given map[string]bool) string {
	switch {
	case linkages[m.Group] == 0 && m.Group != "centres":
		return fmt.Sprintf("--group %q: must be centres, complete or chains", m.Group)
	case preferences[m.Keep] == nil:
		return fmt.Sprintf("--keep %q: must be first, longest or newest", m.Keep)
	case m.Bits != 64 && m.Bits != 128:
		return fmt.Sprintf("--bits %d: must be 64 or 128", m.Bits)
	case m.Distance < 0 || m.Distance > m.Bits:
		return fmt.Sprintf("--distance %d: must be from 0 to %d", m.Distance, m.Bits)
	case m.minhash.Values < 16 || m.minhash.Values > 4096:
		return fmt.Sprintf("--values %d: must be from 16 to 4096", m.minhash.Values)
	}
	return m.checkBorders(given)
}

// checkBorders checks the flags that say from where on a pair counts.
func (m *method) checkBorders(given map[string]bool) string {
	isShare := func(x float64) bool { return x > 0 && x <= 1 }
	switch {
	case !isShare(m.Probability):
		return fmt.Sprintf("--probability %g: must be above 0 and at most 1", m.Probability)
	case !(m.Bias >= -20 && m.Bias <= 20):
		return fmt.Sprintf("--bias %g: must be from -20 to 20", m.Bias)
	case given["probability"] && given["similarity"]:
		return "--probability and --similarity cannot be used together: one of them decides"
	case !isShare(m.Least) && (given["similarity"] || m.Name == "minhash"):
		return fmt.Sprintf("--similarity %g: must be above 0 and at most 1", m.Least)
	case !isShare(m.Blend.Content):
		return fmt.Sprintf("--content %g: must be above 0 and at most 1", m.Blend.Content)
	case !isShare(m.Blend.Threshold):
		return fmt.Sprintf("--score %g: must be above 0 and at most 1", m.Blend.Threshold)
	case m.byContent && (given["content"] || given["score"]):
		return "--content and --score can only be used with --metadata"
	}
	return ""
}

// whole is the tokenizer of metadata: the whole item is one feature.
type whole struct{}

func (whole) Tokens(text string) iter.Seq[neardup.Token] {
	return func(yield func(neardup.Token) bool) { yield(neardup.Token{Text: text, End: len(text)}) }
}
