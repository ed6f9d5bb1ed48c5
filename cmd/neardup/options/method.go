package options

import (
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/dedup"
	"github.com/neardup/neardup/papers"
)

// This file says when two documents are near-duplicates, and checks the flags that say so.

// A Method says when two documents are near-duplicates.
type Method struct {
	Name        string
	Joins       string  // auto, cosine: what joins a group, see Linkage
	Keep        string  // auto, cosine: which document of a group to keep, see Prefers
	Copies      string  // how many documents of a group to keep, see Budget
	Source      string  // the field with the source of a document; "" to report nothing by source
	MostRemoved float64 // the largest share of a source that may be removed
	Weighs      bool    // cosine: --weights was given
	Bits        int     // of fingerprints
	Distance    int     // simhash: the largest distance
	MinHash     neardup.MinHash
	Threshold        // auto, cosine, minhash
	ByContent   bool // whether only the content counts, without metadata
	Blend       papers.Blend
}

// A Threshold says from which value on a pair counts.
type Threshold struct {
	Least             float64      // the smallest similarity; 0 lets the probability decide
	Probability, Bias float64      // auto, cosine: the smallest probability, and what is added to the log odds
	Kinds             neardup.Kind // auto, cosine: the kinds of pairs that count; 0 for the default
}

// IsExact reports whether a Deduplicator compares the documents, by exact cosine.
func (m *Method) IsExact() bool { return m.Name == "auto" || m.Name == "cosine" }

// Same returns the value of a pair of equal documents: distance 0, or similarity or score 1.
func (m *Method) Same() float64 {
	if m.Name == "simhash" && m.ByContent {
		return 0
	}
	return 1
}

// ValueName returns the name of the value of a pair.
func (m *Method) ValueName() string {
	switch {
	case m.Name != "simhash":
		return "similarity"
	case m.ByContent:
		return "distance"
	}
	return "score"
}

// Budget returns how many documents of a group to keep that has so many; 0 if --copies is wrong.
func (m *Method) Budget(size int) int {
	switch m.Copies {
	case "sqrt":
		return int(math.Ceil(math.Sqrt(float64(size))))
	case "log2":
		return bits.Len(uint(size))
	case "source":
		return size
	}
	n, err := strconv.Atoi(m.Copies)
	if err != nil || n < 1 {
		return 0
	}
	return n
}

// Show returns a value as the outputs show it.
func (m *Method) Show(value float64) string {
	if m.Name == "simhash" && m.ByContent {
		return fmt.Sprint(int(value))
	}
	return fmt.Sprintf("%.4f", value)
}

// Methods has what --method can name.
var Methods = []string{"auto", "cosine", "minhash", "simhash"}

// MethodsOf returns the methods that a flag can be used with.
func MethodsOf(name string) []string {
	for _, of := range []struct{ flags, methods string }{
		{"bits distance save metadata content score", "simhash"},
		{"values", "minhash"},
		{"similarity", "auto cosine minhash"},
		{"kinds probability bias", "auto cosine"},
		{"linkage", "auto cosine minhash simhash"},
		{"tokenizer", "cosine minhash simhash"},
		{"weights stats", "cosine simhash"},
	} {
		if slices.Contains(strings.Fields(of.flags), name) {
			return strings.Fields(of.methods)
		}
	}
	return Methods
}

// setMethod checks the flags that choose a method, and sets what follows from them. given has the
// names of the flags that the user set. setMethod returns what is wrong, or "".
func (o *Options) setMethod(given map[string]bool) string {
	m := &o.Method
	m.ByContent = o.Cols.Metadata == ""
	if !slices.Contains(Methods, m.Name) {
		return fmt.Sprintf("--method %q: must be auto, cosine, minhash or simhash", m.Name)
	}
	for _, f := range slices.Sorted(maps.Keys(given)) {
		if methods := MethodsOf(f); !slices.Contains(methods, m.Name) {
			return fmt.Sprintf("--%s can only be used with --method %s", f, strings.Join(methods, ", "))
		}
	}
	m.Weighs = given["weights"]
	if m.Name == "minhash" && !given["similarity"] {
		m.Least = 0.6
	}
	if wrong := m.check(given); wrong != "" {
		return wrong
	}
	if m.Name != "simhash" && input.FormatOf(o.Against, "") == input.Fingerprints {
		return "--against: saved fingerprints can only be used with --method simhash"
	}
	if m.ByContent {
		return ""
	}
	switch {
	case slices.Contains(o.Cols.MetadataNames(), ""):
		return "--metadata: a name in the list is empty"
	case given["distance"]:
		return "--distance cannot be used with --metadata: --content and --score determine the distance"
	case o.FingerprintFiles():
		return "--metadata cannot be used with saved fingerprints, which have no metadata"
	}
	m.Distance = m.Blend.MaxDistance(m.Bits)
	return ""
}

// check checks the values of the flags.
func (m *Method) check(given map[string]bool) string {
	switch {
	case linkages[m.Joins] == 0 && m.Joins != "centre":
		return fmt.Sprintf("--linkage %q: must be centre, complete or single", m.Joins)
	case preferences[m.Keep] == nil:
		return fmt.Sprintf("--keep %q: must be first, longest or newest", m.Keep)
	case m.Budget(1) == 0:
		return fmt.Sprintf("--copies %q: must be a number from 1 on, sqrt, log2 or source", m.Copies)
	case m.Copies == "source" && m.Source == "":
		return "--copies source needs --source, which says where documents are from"
	case !(m.MostRemoved > 0 && m.MostRemoved <= 1):
		return fmt.Sprintf("--most-removed %g: must be above 0 and at most 1", m.MostRemoved)
	case m.Bits != 64 && m.Bits != 128:
		return fmt.Sprintf("--bits %d: must be 64 or 128", m.Bits)
	case m.Distance < 0 || m.Distance > m.Bits:
		return fmt.Sprintf("--distance %d: must be from 0 to %d", m.Distance, m.Bits)
	case m.MinHash.Values < 16 || m.MinHash.Values > 4096:
		return fmt.Sprintf("--values %d: must be from 16 to 4096", m.MinHash.Values)
	}
	return m.checkThresholds(given)
}

// checkThresholds checks the flags that say from where on a pair counts.
func (m *Method) checkThresholds(given map[string]bool) string {
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
	case m.ByContent && (given["content"] || given["score"]):
		return "--content and --score can only be used with --metadata"
	}
	return ""
}

// Deduplicator returns the settings of a Deduplicator for a call, which reports its progress with tell.
func (o *Options) Deduplicator(fp *neardup.Fingerprinter, tell func(dedup.Progress)) dedup.Options {
	m := &o.Method
	s := dedup.Options{Fingerprinter: *fp, Similarity: m.Least, Probability: m.Probability, Bias: m.Bias, Kinds: m.Kinds}
	s.Memory, s.Progress = o.Memory*3/4, tell // the rest of the memory is for ids and places
	if m.Name == "auto" {
		s.Fingerprinter.Tokenizer = nil
	}
	s.Fingerprinter.Fields = o.Fields
	if m.Weighs && fp.Weight == nil {
		s.Fingerprinter.Weight = neardup.Count
	}
	return s
}
