package options

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/input"
)

// This file makes a Fingerprinter from the flags --tokenizer, --normalize and --secret, and has the weights that --weights can name.

// Tokenizers has what --tokenizer can name, in the order of the help.
var Tokenizers = []struct {
	Name, Help string
	make       func() (neardup.Tokenizer, error)
}{
	{"words2", "pairs of words; a Chinese character is a word (the default)", fixed(neardup.Shingles{N: 2})},
	{"words", "single words", fixed(neardup.Words{})},
	{"words3", "runs of three words", fixed(neardup.Shingles{N: 3})},
	{"chars2", "pairs of characters", fixed(neardup.NGrams{N: 2})},
	{"chars3", "runs of three characters", fixed(neardup.NGrams{N: 3})},
	{"chars5", "runs of five characters", fixed(neardup.NGrams{N: 5})},
	{"gse", "Chinese words from a dictionary (takes two seconds to load)", segment(1)},
	{"gse2", "pairs of words from the dictionary", segment(2)},
}

func fixed(t neardup.Tokenizer) func() (neardup.Tokenizer, error) {
	return func() (neardup.Tokenizer, error) { return t, nil }
}

func segment(n int) func() (neardup.Tokenizer, error) {
	return func() (neardup.Tokenizer, error) {
		s, err := neardup.NewSegmenter(neardup.SegmenterOptions{})
		if n == 1 || err != nil {
			return s, err
		}
		return neardup.Shingles{Of: s, N: n}, nil
	}
}

// Steps has what --normalize can name, in the order of the help.
var Steps = []struct {
	Name, Help string
	set        func(*neardup.Normalizer)
}{
	{"html", "replace HTML by the text that it shows", func(n *neardup.Normalizer) { n.HTML = true }},
	{"nfc", "compose characters (Unicode NFC)", func(n *neardup.Normalizer) { n.Form = neardup.FormNFC }},
	{"width", "the same, and replace full width by half width", func(n *neardup.Normalizer) { n.Form = neardup.FormWidth }},
	{"nfkc", "compose characters, also compatible ones (Unicode NFKC)", func(n *neardup.Normalizer) { n.Form = neardup.FormNFKC }},
	{"simplified", "write Chinese in simplified characters", func(n *neardup.Normalizer) { n.Simplified = true }},
	{"arabic", "write Arabic letters as in Persian, without vowel signs", func(n *neardup.Normalizer) { n.Arabic = true }},
	{"confusables", "replace Cyrillic and Greek letters in Latin words by the Latin letters that they look like", func(n *neardup.Normalizer) { n.Confusables = true }},
	{"fold", "make letters lower case", func(n *neardup.Normalizer) { n.Fold = true }},
	{"urls", "replace web addresses by <url>", func(n *neardup.Normalizer) { n.URLs = neardup.TreatmentMask }},
	{"emails", "replace e-mail addresses by <email>", func(n *neardup.Normalizer) { n.Emails = neardup.TreatmentMask }},
	{"dates", "replace dates and times by <date>", func(n *neardup.Normalizer) { n.Dates = neardup.TreatmentMask }},
	{"numbers", "replace other numbers by <number>", func(n *neardup.Normalizer) { n.Numbers = neardup.TreatmentMask }},
	{"space", "replace white space by one space, and remove empty lines", func(n *neardup.Normalizer) { n.Space = true }},
}

// Fingerprinter returns the Fingerprinter that the flags describe, without a weight: package learn sets that.
func (o *Options) Fingerprinter() (*neardup.Fingerprinter, error) {
	f := &neardup.Fingerprinter{}
	var names []string
	for _, t := range Tokenizers {
		names = append(names, t.Name)
		if t.Name == o.Tokenizer {
			var err error
			if f.Tokenizer, err = t.make(); err != nil {
				return nil, err
			}
		}
	}
	if f.Tokenizer == nil {
		return nil, fmt.Errorf("--tokenizer %q: must be one of %s", o.Tokenizer, strings.Join(names, ", "))
	}
	for step := range strings.SplitSeq(o.Normalize, ",") {
		if err := SetStep(&f.Normalizer, strings.TrimSpace(step)); err != nil {
			return nil, err
		}
	}
	if o.Secret != "" {
		secret, err := input.ReadFile(o.Secret)
		if err != nil {
			return nil, err
		}
		if f.Hash, err = neardup.SeededHash(bytes.TrimRight(secret, "\r\n")); err != nil {
			return nil, fmt.Errorf("%s:1: %w", o.Secret, err)
		}
	}
	return f, nil
}

// SetStep sets what one step of --normalize asks for.
func SetStep(n *neardup.Normalizer, step string) error {
	if step == "" {
		return nil
	}
	var names []string
	name, how, given := strings.Cut(step, "=")
	for _, s := range Steps {
		names = append(names, s.Name)
		if s.Name == name {
			before := n.Form
			if s.set(n); before != neardup.FormAsIs && n.Form != before {
				return fmt.Errorf("--normalize: give only one of nfc, width and nfkc")
			}
		}
	}
	treatment, ok := map[string]*neardup.Treatment{"urls": &n.URLs, "emails": &n.Emails, "dates": &n.Dates, "numbers": &n.Numbers}[name]
	switch {
	case ok && how == "remove":
		*treatment = neardup.TreatmentRemove
	case given:
		return fmt.Errorf("--normalize %q: = is allowed only in urls=remove, emails=remove, dates=remove and numbers=remove", step)
	case !slices.Contains(names, name):
		return fmt.Errorf("--normalize %q: steps are %s", step, strings.Join(names, ", "))
	}
	return nil
}

// TextHash returns a hash of a text; texts with equal hashes are treated as equal. With --secret the
// texts may be hostile, so the hash is cryptographic.
func (o *Options) TextHash(text string) (hash [16]byte) {
	if o.Secret != "" {
		sum := sha256.Sum256([]byte(text))
		return [16]byte(sum[:])
	}
	return xxh3.HashString128(text).Bytes()
}

// A Weighting is a weight that --weights can name.
type Weighting struct {
	Name, help      string
	Of              func(neardup.IDF) neardup.Weight
	NeedsStatistics bool // document frequencies
}

// Weightings has what --weights can name, in the order of the help.
var Weightings = []Weighting{
	{"count", "how often the feature occurs (the default)", func(neardup.IDF) neardup.Weight { return nil }, false},
	{"binary", "1 for every feature", func(neardup.IDF) neardup.Weight { return neardup.Constant(1) }, false},
	{"log", "1 + ln count", func(neardup.IDF) neardup.Weight { return neardup.LogCount }, false},
	{"tfidf", "count × inverse document frequency", func(idf neardup.IDF) neardup.Weight {
		idf.Smooth = true
		return neardup.Product{neardup.Count, idf}
	}, true},
	{"logidf", "(1 + ln count) × inverse document frequency: for revised texts, with --distance 13 or --bits 128 --distance 36", func(idf neardup.IDF) neardup.Weight {
		idf.Smooth = true
		return neardup.Product{neardup.LogCount, idf}
	}, true},
}

// WeightsHelp describes the weights.
func WeightsHelp() string {
	var names []string
	for _, w := range Weightings {
		names = append(names, w.Name+" ("+w.help+")")
	}
	return strings.Join(names, ", ") + ". tfidf and logidf read the inputs twice, unless --stats has the document frequencies"
}

// Weighting returns the weight that --weights names.
func (o *Options) Weighting() (*Weighting, error) {
	var names []string
	for i := range Weightings {
		if Weightings[i].Name == o.Weights {
			return &Weightings[i], nil
		}
		names = append(names, Weightings[i].Name)
	}
	return nil, fmt.Errorf("--weights %q: must be one of %s", o.Weights, strings.Join(names, ", "))
}
