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

// features is what the features of a Fingerprinter are made by.
type features struct {
	normalizer Normalizer
	tokenizer  Tokenizer
	fields     []Field
	key        *hashKey
	custom     string
}

func (f *Fingerprinter) features() features {
	return features{f.Normalizer.canonical(), f.tokenizer(), f.Fields, f.Hash.key, f.Custom}
}

// looksSame reports whether two are the same as far as can be seen at once: it does not
// compare the lines of Boilerplate, nor tokenizers of the caller's own.
func (a *features) looksSame(b *features) bool {
	na, nb := a.normalizer, b.normalizer
	if (na.Boilerplate == nil) != (nb.Boilerplate == nil) {
		return false
	}
	na.Boilerplate, nb.Boilerplate = nil, nil
	return na == nb && (a.key == nil) == (b.key == nil) && (a.key == b.key || a.key.check == b.key.check) &&
		sameTokenizer(a.tokenizer, b.tokenizer) && slices.EqualFunc(a.fields, b.fields, sameField)
}

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
	case Filter:
		b, ok := b.(Filter)
		return ok && a.Stop.id() == b.Stop.id() && sameTokenizer(a.of(), b.of())
	case *Segmenter:
		b, ok := b.(*Segmenter)
		return ok && (a == b || a != nil && b != nil && a.digest == b.digest)
	}
	return reflect.TypeOf(a) == reflect.TypeOf(b)
}

func sameField(a, b Field) bool {
	split := sameTokenizer(a.Split, b.Split)
	a.Split, b.Split = nil, nil
	return split && a == b
}

// isSame reports whether two are the same.
func (a *features) isSame(b *features) bool {
	va, errA := a.version()
	vb, errB := b.version()
	return errA == nil && errB == nil && va == vb || errA != nil && errB != nil && a.looksSame(b)
}

// version is the version of statistics of the features.
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

// describe puts a version together. own is what has no name but custom.
func (a *features) describe(own []string, more string, args ...any) (string, error) {
	if err := a.normalizer.check(); err != nil {
		return "", err
	}
	tokenizer := tokenizerVersion(a.tokenizer)
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
		return "", fmt.Errorf("neardup: %s of the caller's own: set Custom to a name that changes when what they return does", strings.Join(own, " and "))
	}
	if !format.IsVersion(version) {
		return "", fmt.Errorf("neardup: the version has %d bytes; it can be stored up to %d", len(version), format.MaxVersion)
	}
	return version, nil
}

// isCustom reports whether a tokenizer is of the caller's own.
func (a *features) isCustom() bool {
	custom := func(t Tokenizer) bool { return strings.Contains(tokenizerVersion(t), "custom") }
	return custom(a.tokenizer) || slices.ContainsFunc(a.fields, func(f Field) bool { return f.Split != nil && custom(f.Split) })
}

func hashVersion(key *hashKey) string {
	if key != nil {
		return "xxh3-seeded:" + key.check
	}
	return "xxh3"
}

func tokenizerVersion(t Tokenizer) string {
	switch t := t.(type) {
	case Words:
		return "words"
	case NGrams:
		return fmt.Sprintf("ngrams(%d)", t.n())
	case Shingles:
		of := "words"
		if t.Of != nil {
			of = tokenizerVersion(t.Of)
		}
		return fmt.Sprintf("shingles(%s,%d)", of, t.n())
	case Filter:
		return fmt.Sprintf("without(%s,%016x)", tokenizerVersion(t.of()), t.Stop.id())
	case *Segmenter:
		if t == nil {
			t = &Segmenter{}
		}
		return fmt.Sprintf("gse(%016x)", t.digest)
	}
	return "custom"
}

// lexVersion changes whenever a tokenizer, a normaliser or the accumulator gives
// another result for any text.
const lexVersion = 1

// The errors of everything that reads what was stored.
var (
	// ErrDamaged: the file is not as it was written, or is not a file of this package.
	ErrDamaged = format.ErrDamaged

	// ErrVersion: it was stored with other settings, in another width or by another version of
	// this package.
	ErrVersion = format.ErrVersion
)

// Version describes all that fingerprints of f depend on, such as
//
//	neardup=1 unicode=15.0.0 normalizer=nfkc,urls:mask tokenizer=shingles(words,2) hash=xxh3 weight=1 tie=0
//
// Two fingerprints of one width compare if their versions are equal. It holds the
// digests of the dictionary of a [Segmenter] and of the lines of a [Boilerplate],
// and of a secret ([SeededHash]) a check value only. It is an error if a field of
// f has something of the caller's own and Custom does not name it. Of the parser of
// HTML, which is not part of this package, it holds what that makes of a page full of
// pitfalls.
//
// Store it beside fingerprints, as [WriteFingerprints] does, and check it with
// [Fingerprinter.CheckVersion]. It has no line breaks.
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

// hashVersion returns how features are hashed, and what of them and of that is the caller's
// own.
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

// CheckVersion returns nil if fingerprints that were stored with a version compare
// with those of f, and an [ErrVersion] that says what differs if not.
func (f *Fingerprinter) CheckVersion(stored string) error {
	current, err := f.Version()
	if err != nil {
		return err
	}
	return format.CompareVersions(stored, current, fingerprintAgain)
}

// fingerprintAgain is what to do where fingerprints of another version are stored.
const fingerprintAgain = "fingerprint the stored texts again"

// version names the steps of n.
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
	add(n.Form != AsIs, [...]string{"", "nfc", "width", "nfkc"}[n.Form])
	add(n.Fold, "fold")
	for _, t := range []struct {
		what string
		how  Treatment
	}{{"urls", n.URLs}, {"emails", n.Emails}, {"dates", n.Dates}, {"numbers", n.Numbers}} {
		add(t.how != Keep, t.what+[...]string{"", ":mask", ":remove"}[t.how])
	}
	add(n.Space, "space")
	if n.Boilerplate != nil {
		d := format.NewDigest()
		for _, line := range n.Boilerplate.Sorted {
			d.Uint64(line)
		}
		steps = append(steps, fmt.Sprintf("boilerplate(%016x)", d.Sum()))
	}
	if steps == nil {
		return "none"
	}
	return strings.Join(steps, ",")
}
