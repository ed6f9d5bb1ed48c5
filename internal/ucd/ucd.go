// Package ucd has what the library knows of characters, frozen in one version of
// Unicode: never the tables of the toolchain, which change with it, and
// fingerprints would change with them.
package ucd

//go:generate go run -C gen . ../tables.go

import "slices"

// The classes of characters, as tokenizers see them.
const (
	Separator = iota // belongs to no token
	Letter           // letters and numbers: parts of words
	Single           // a word of its own: a character of a script without spaces, an emoji
	Mark             // belongs to the character before
	Ignored          // as if it were not there: soft hyphens, joiners, variation selectors
)

// The properties of a character: its class and flags.
const (
	ClassMask = 7
	Folds     = 1 << 3 // [Fold] changes it
	Stable    = 1 << 4 // normalisation changes it in no form, whatever is before it
	Combines  = 1 << 5 // canonical composition may change its folded form, or what is before it
	Composes  = 1 << 6 // some character before its folded form composes with it
	Parts     = 1 << 7 // its folded form decomposes, and does not compose again
)

// BlockBits is the logarithm of the number of characters in a block of the table.
const BlockBits = 7

// Props returns the properties of a character. Everything above U+10FFFF, and
// negative, is a separator.
func Props(r rune) uint8 {
	if uint32(r) > 0x10FFFF {
		return Separator
	}
	return blocks[int(index[r>>BlockBits])<<BlockBits|int(r&(1<<BlockBits-1))]
}

// Fold returns r in lower case (simple case folding, so that ς is σ), in the
// usual width (Ａ is a, ｱ is ア), font (𝐀 is a) and code (compatibility ideographs
// are ideographs, and so are radicals that have an equivalent). It is the fold of tokenizers.
func Fold(r rune) rune {
	if i, ok := slices.BinarySearch(foldFrom[:], r); ok {
		return foldTo[i]
	}
	return r
}

// Simplify returns the simplified form of a Chinese character, or r itself: the first variant that Unihan has
// (kSimplifiedVariant). Simplified forms stay as they are.
func Simplify(r rune) rune {
	if uint32(r) > 0xFFFF {
		return r
	}
	if i, ok := slices.BinarySearch(simplifyFrom[:], uint16(r)); ok {
		return rune(simplifyTo[i])
	}
	return r
}

// firstMark is the first character that combines with the one before it.
const firstMark = 0x300

// A Form is a form of normalisation.
type Form int

const (
	NFC   Form = iota // canonical composition
	Width             // NFC with full-width and half-width characters replaced
	NFKC              // compatibility composition
)

// Decompose returns the full decomposition of r in a form, or "" if it has none.
// Hangul is left to the caller.
func Decompose(r rune, form Form) string {
	i, ok := slices.BinarySearch(decomposeFrom[:], r)
	if !ok {
		return ""
	}
	at := decomposeTo[i][form]
	return decompositions[at>>6 : at>>6+at&63]
}

// Compose returns the character that a and b compose to, if there is one.
func Compose(a, b rune) (rune, bool) {
	if b < firstMark {
		return 0, false
	}
	if l, v := uint32(a)-leadBase, uint32(b)-vowelBase; l < leadCount && v < vowelCount {
		return rune(hangulBase + (l*vowelCount+v)*tailCount), true
	}
	if s, t := uint32(a)-hangulBase, uint32(b)-tailBase; s < hangulCount && s%tailCount == 0 && t-1 < tailCount-1 {
		return a + rune(t), true
	}
	if i, ok := slices.BinarySearch(composeFrom[:], uint64(a)<<32|uint64(b)); ok {
		return composeTo[i], true
	}
	return 0, false
}

// CombiningClass returns the canonical combining class of r.
func CombiningClass(r rune) uint8 {
	if r < firstMark {
		return 0
	}
	if i := int(r - firstMark); i < len(nearClasses) {
		return nearClasses[i]
	}
	i, ok := slices.BinarySearchFunc(combining[:], r, func(run [3]rune, r rune) int {
		switch {
		case run[1] < r:
			return -1
		case run[0] > r:
			return 1
		}
		return 0
	})
	if !ok {
		return 0
	}
	return uint8(combining[i][2])
}
