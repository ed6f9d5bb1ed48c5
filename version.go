package neardup

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/neardup/neardup/internal/clean"
	"github.com/neardup/neardup/internal/format"
	"github.com/neardup/neardup/internal/ucd"
)

// A version is one line of text that describes everything a stored result depends on: fingerprints,
// signatures, vectors, statistics. Two results can be compared if their versions are equal. This
// file puts versions together. It also has a cheaper comparison of two Fingerprinters (looksSame),
// which runs for every text that is weighed by statistics.
//
// Settings that are code or data, such as a dictionary, appear as a digest. Code of the caller's
// has neither; Fingerprinter.Custom names it.

// features holds the settings that decide which features a text has, and how they are keyed. Weight
// and TiesOne are not among them, so statistics can be shared by Fingerprinters that differ in
// these.
type features struct {
	normalizer Normalizer
	tokenizer  Tokenizer
	fields     []Field
	key        *hashKey
	custom     string
}

// features returns these settings of f, without parts that have no effect.
func (f *Fingerprinter) features() features {
	return features{f.Normalizer.canonical(), f.tokenizer(), f.Fields, f.Hash.key, f.Custom}
}

// stopped returns the words of a lexicon that a tokenizer of these features removes as stop words.
func (a *features) stopped(l *Lexicon) []string {
	words := stopped(a.tokenizer, l)
	for i := 0; i < len(a.fields) && words == nil; i++ {
		words = stopped(a.fields[i].Split, l)
	}
	return words
}

func stopped(t Tokenizer, l *Lexicon) []string {
	switch t := t.(type) {
	case Shingles:
		return stopped(t.Of, l)
	case Words:
		return l.shared(t.StopWords)
	case *Segmenter:
		if t != nil {
			return l.shared(t.stop)
		}
	}
	return nil
}

// check returns an error if a setting of the Normalizer or of a Field is out of range.
func (a *features) check() error {
	if err := a.normalizer.check(); err != nil {
		return err
	}
	return checkFields(a.fields)
}

// Check returns an error if a setting is out of range, or if the Weight does not fit the features, such
// as an IDF whose statistics were made with another Tokenizer. Methods that cannot return an error
// panic then.
func (f *Fingerprinter) Check() error {
	of := f.features()
	if err := of.check(); err != nil {
		return err
	}
	return checkWeight(f.Weight, &of, true)
}

// looksSame reports whether a and b are equal as far as a quick look can tell. It does not compare
// the lines of Boilerplate, and of the caller's own tokenizers only the types. It is fast enough to
// run for every text.
func (a *features) looksSame(b *features) bool {
	na, nb := a.normalizer, b.normalizer
	if (na.Boilerplate == nil) != (nb.Boilerplate == nil) {
		return false
	}
	na.Boilerplate, nb.Boilerplate = nil, nil
	return na == nb && (a.key == nil) == (b.key == nil) && (a.key == b.key || a.key.check == b.key.check) &&
		sameTokenizer(a.tokenizer, b.tokenizer) && slices.EqualFunc(a.fields, b.fields, sameField)
}

// sameTokenizer reports whether two tokenizers yield the same tokens. Tokenizers of the caller's
// own count as equal if they have the same type.
func sameTokenizer(a, b Tokenizer) bool {
	charsA, nA, okA := unitsOf(a)
	charsB, nB, okB := unitsOf(b)
	if okA || okB {
		return okA && okB && charsA == charsB && nA == nB
	}
	switch a := a.(type) {
	case nil:
		return b == nil
	case Shingles:
		b, ok := b.(Shingles)
		return ok && a.n() == b.n() && sameTokenizer(a.Of, b.Of)
	case Words:
		b, ok := b.(Words)
		return ok && a.StopWords.id() == b.StopWords.id()
	case *Segmenter:
		b, ok := b.(*Segmenter)
		return ok && (a == b || a != nil && b != nil && a.digest == b.digest)
	}
	return reflect.TypeOf(a) == reflect.TypeOf(b)
}

// sameField reports whether two fields are equal. Splits are compared by sameTokenizer, because an
// interface with a caller's type in it may not be comparable.
func sameField(a, b Field) bool {
	split := sameTokenizer(a.Split, b.Split)
	a.Split, b.Split = nil, nil
	return split && a == b
}

// isSame reports whether a and b have the same version. If neither has one, because a tokenizer of
// the caller's own has no name, it falls back to looksSame.
func (a *features) isSame(b *features) bool {
	va, errA := a.version()
	vb, errB := b.version()
	return errA == nil && errB == nil && va == vb || errA != nil && errB != nil && a.looksSame(b)
}

// version returns the version for statistics of these features. custom counts only if a tokenizer
// is of the caller's own: it may otherwise name a weight or a hash, and statistics depend on
// neither.
func (a *features) version() (string, error) {
	var own []string
	of := *a
	if of.isCustom() {
		own = append(own, "Tokenizer")
	} else {
		of.custom = ""
	}
	return of.describe(own, "hash=%s", hashVersion(a.key))
}

// describe puts a version together: the features, then more (a format and its args), the fields and
// the custom name. own lists which settings are the caller's own code. If there are any and custom
// is empty, that is an error. So is a bad Normalizer, a Segmenter that was not made by
// NewSegmenter, and a version too long for a file.
func (a *features) describe(own []string, more string, args ...any) (string, error) {
	if err := a.check(); err != nil {
		return "", err
	}
	tokenizer := tokenizerVersion(a.tokenizer)
	// Round 0 checks the tokenizer of texts, the others those of the fields. A zero Segmenter has
	// the digest 0, also inside Shingles.
	for i := range len(a.fields) + 1 {
		t := tokenizer
		if i > 0 && a.fields[i-1].Split != nil {
			t = tokenizerVersion(a.fields[i-1].Split)
		}
		if strings.Contains(t, "gse(0000000000000000)") {
			return "", errors.New("neardup: the Segmenter was not made by NewSegmenter")
		}
	}
	version := fmt.Sprintf("neardup=%d unicode=%s normalizer=%s tokenizer=%s ", lexVersion, ucd.Version, a.normalizer.version(), tokenizer) +
		fmt.Sprintf(more, args...)
	if len(a.fields) > 0 {
		version += " fields=" + fieldsVersion(a.fields, a.tokenizer)
	}
	if a.custom != "" {
		if !format.IsVersion(a.custom) || strings.Contains(a.custom, " ") || len(a.custom) > 100 {
			return "", fmt.Errorf("neardup: Custom %q must be a word of at most 100 printable ASCII characters", format.Clip(a.custom))
		}
		version += " custom=" + a.custom
	} else if len(own) > 0 {
		return "", fmt.Errorf("neardup: a custom %s: set Custom to a name, and change the name when the results change", strings.Join(own, " and "))
	}
	if !format.IsVersion(version) {
		return "", fmt.Errorf("neardup: the version has %d bytes; it can be stored up to %d", len(version), format.MaxVersion)
	}
	return version, nil
}

// isCustom reports whether any tokenizer is of the caller's own, also inside Shingles.
func (a *features) isCustom() bool {
	custom := func(t Tokenizer) bool { return strings.Contains(tokenizerVersion(t), "custom") }
	return custom(a.tokenizer) || slices.ContainsFunc(a.fields, func(f Field) bool { return f.Split != nil && custom(f.Split) })
}

// hashVersion names the xxh3 of the features: unseeded, or with the check value of the secret.
func hashVersion(key *hashKey) string {
	if key != nil {
		return "xxh3-seeded:" + key.check
	}
	return "xxh3"
}

// tokenizerVersion spells a tokenizer out, or returns "custom" for one of the caller's own.
func tokenizerVersion(t Tokenizer) string {
	switch t := t.(type) {
	case Words:
		if t.StopWords.Len() > 0 {
			return fmt.Sprintf("without(words,%016x)", t.StopWords.id())
		}
		return "words"
	case NGrams:
		return fmt.Sprintf("ngrams(%d)", t.n())
	case Shingles:
		return fmt.Sprintf("shingles(%s,%d)", tokenizerVersion(t.of()), t.n())
	case *Segmenter:
		if t == nil {
			t = &Segmenter{} // has the digest 0, which describe refuses
		}
		return fmt.Sprintf("gse(%016x)", t.digest)
	}
	return "custom"
}

// lexVersion must be raised whenever a tokenizer, the Normalizer or an accumulator returns
// something else for any text.
const lexVersion = 2

// The errors of everything that reads stored data. Test for them with [errors.Is]; the error
// returned wraps one of them and says more.
var (
	// ErrDamaged means that a file is not as it was written, or is not a file of this package.
	ErrDamaged = format.ErrDamaged

	// ErrVersion means that data was stored with other settings, in another width or by another
	// version of this package.
	ErrVersion = format.ErrVersion
)

// Version describes everything that the fingerprints of f depend on, in one line of printable ASCII
// such as
//
//	neardup=2 unicode=15.0.0 normalizer=nfkc,urls:mask tokenizer=shingles(words,2) hash=xxh3 weight=1 tie=0
//
// Two fingerprints of one width can be compared if their versions are equal. The version holds
// digests of the dictionary of a [Segmenter], of the lines of a [Boilerplate] and of statistics. Of
// a secret ([SeededHash]) it holds only a check value. The HTML parser is not part of this package;
// the version holds a digest of what it makes of a page full of pitfalls.
//
// It is an error if [Fingerprinter.Check] returns one, or if f has code of the caller's own and Custom
// does not name it.
//
// Store the version with the fingerprints, as [WriteFingerprints] does, and compare it by
// [Fingerprinter.CheckVersion].
func (f *Fingerprinter) Version() (string, error) {
	of := f.features()
	hash, own := f.hashVersion(&of)
	if needsOf(f.Weight)&needsName != 0 {
		own = append(own, "Weight")
	}
	if err := checkWeight(f.Weight, &of, true); err != nil {
		return "", err
	}
	weight := "1"
	if f.Weight != nil && f.Weight != Weight(Count) {
		weight = weightVersion(f.Weight)
	}
	tie := 0
	if f.TiesOne {
		tie = 1
	}
	return of.describe(own, "hash=%s weight=%s tie=%d", hash, weight, tie)
}

// hashVersion returns how features are hashed, and which of the settings that hashes depend on are
// code of the caller's own.
func (f *Fingerprinter) hashVersion(of *features) (hash string, own []string) {
	hash = hashVersion(f.Hash.key)
	if of.isCustom() {
		own = append(own, "Tokenizer")
	}
	if !f.Hash.isXXH3() {
		hash = "custom"
		own = append(own, "Hash")
	}
	return hash, own
}

// CheckVersion returns nil if fingerprints that were stored with the given version can be compared
// with those of f. Otherwise the error is an [ErrVersion] that says what differs, or the error of
// [Fingerprinter.Version].
func (f *Fingerprinter) CheckVersion(stored string) error {
	current, err := f.Version()
	if err != nil {
		return err
	}
	return format.CompareVersions(stored, current, fingerprintAgain)
}

// fingerprintAgain is the advice in the error for fingerprints of another version.
const fingerprintAgain = "fingerprint the stored texts again"

// version names the steps of n in order, or "none". n must have passed check.
func (n *Normalizer) version() string {
	var steps []string
	canonical := n.canonical()
	n = &canonical
	add := func(on bool, step string) {
		if on {
			steps = append(steps, step)
		}
	}
	if n.HTML {
		d := format.NewDigest()
		d.Text(clean.ReadPitfalls())
		steps = append(steps, fmt.Sprintf("html(%08x)", uint32(d.Sum())))
	}
	add(n.Form != FormAsIs, [...]string{"", "nfc", "width", "nfkc"}[n.Form])
	add(n.Simplified, "simplified")
	add(n.Arabic, "arabic")
	add(n.Confusables, "confusables")
	add(n.Fold, "fold")
	for _, t := range []struct {
		what string
		how  Treatment
	}{{"urls", n.URLs}, {"emails", n.Emails}, {"dates", n.Dates}, {"numbers", n.Numbers}} {
		add(t.how != TreatmentKeep, t.what+[...]string{"", ":mask", ":remove"}[t.how])
	}
	add(n.Space, "space")
	if n.Boilerplate != nil {
		d := format.NewDigest()
		for _, line := range n.Boilerplate.lines.Sorted {
			d.Uint64(line)
		}
		steps = append(steps, fmt.Sprintf("boilerplate(%016x)", d.Sum()))
	}
	if steps == nil {
		return "none"
	}
	return strings.Join(steps, ",")
}
