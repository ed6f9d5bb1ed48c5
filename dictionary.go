package neardup

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-ego/gse"
)

// SegmenterConfig says with which words a Segmenter works.
type SegmenterConfig struct {
	// UserDict has one word on a line, then optionally its frequency and its
	// part of speech, separated by spaces or tabs. Empty lines and lines that
	// begin with # are skipped. A word has at most 64 characters and no end of a
	// sentence inside. User words come before those of the built-in dictionary,
	// and the first of equal ones counts; without a frequency they get 1000,
	// which nearly always wins over shorter words. It is read to the end.
	UserDict io.Reader

	// StopWords are left out of the tokens, compared as folded by the tokenizers.
	StopWords []string
}

// NewSegmenter loads the dictionary of gse for simplified and traditional
// Chinese. It takes about two seconds, and the dictionary 200 MB of memory, so
// make one and share it.
func NewSegmenter(config SegmenterConfig) (*Segmenter, error) {
	seg := gse.Segmenter{SkipLog: true, NotLoadHMM: true, Dict: gse.NewDict()}
	seg.Init()
	if config.UserDict != nil {
		if err := addUserDict(&seg, config.UserDict); err != nil {
			return nil, err
		}
	}
	if err := seg.LoadDictEmbed("zh"); err != nil {
		return nil, fmt.Errorf("neardup: gse dictionary: %w", err)
	}
	s := &Segmenter{dict: seg.Dict, stop: make(map[string]bool)}
	for _, w := range config.StopWords {
		s.stop[fold(w)] = true
	}
	s.cost = make([]uint32, len(s.dict.Tokens))
	s.length = make([]uint16, len(s.dict.Tokens))
	total := log2(s.dict.TotalFreq())
	d := newDigest()
	for _, w := range slices.Sorted(maps.Keys(s.stop)) {
		d.text(w)
	}
	for i := range s.dict.Tokens {
		t := &s.dict.Tokens[i]
		s.cost[i] = uint32(max(1, total-log2(t.Freq())))
		n := 0
		for text := t.Text(); text != ""; n++ {
			size, _ := unit(text)
			text = text[size:]
		}
		s.length[i] = uint16(min(n, math.MaxUint16))
		s.digest += checksum(bytesOf(t.Text()), checksum(bytesOf(t.Pos()), uint64(s.cost[i]))) // in any order
	}
	s.digest += d.sum()
	s.paths.New = func() any { return &path{tokens: make([]*gse.Token, s.dict.MaxTokenLen())} }
	return s, nil
}

// log2 returns log₂(x) in units of 2⁻¹⁶, for x ≥ 1, by squaring the mantissa.
// The last bits of [math.Log2] are not the same on every platform.
func log2(x float64) int64 {
	frac, exp := math.Frexp(x)        // x = frac·2^exp, frac in [½, 1)
	m := uint64(math.Ldexp(frac, 64)) // 2·frac in units of 2⁻⁶³
	l := int64(exp - 1)
	for range 16 {
		m, _ = bits.Mul64(m, m) // in units of 2⁻⁶²
		l <<= 1
		if m>>63 != 0 {
			l |= 1
		} else {
			m <<= 1
		}
	}
	return l
}

func addUserDict(seg *gse.Segmenter, r io.Reader) error {
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if n == 1 {
			line = strings.TrimPrefix(line, "\ufeff")
		}
		fields := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' || r == '\r' })
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		freq, pos := 1000.0, ""
		if len(fields) > 1 {
			var err error
			if freq, err = strconv.ParseFloat(fields[1], 64); err != nil || !(freq >= 1 && freq <= 1e9) {
				return fmt.Errorf("neardup: user dictionary line %d: frequency %q is not a number from 1 to 1e9", n, clip(fields[1]))
			}
		}
		if len(fields) > 2 {
			pos = fields[2]
		}
		if len(fields) > 3 {
			return fmt.Errorf("neardup: user dictionary line %d: more than word, frequency and part of speech", n)
		}
		if utf8.RuneCountInString(fields[0]) > maxUserWord || strings.ContainsAny(fields[0], sentenceEnds) {
			return fmt.Errorf("neardup: user dictionary line %d: %q has more than %d characters or the end of a sentence", n, clip(fields[0]), maxUserWord)
		}
		if !utf8.ValidString(fields[0]) || strings.ContainsFunc(fields[0], func(r rune) bool { return r < utf8.RuneSelf && isControl(byte(r)) }) {
			return fmt.Errorf("neardup: user dictionary line %d: %q is not a word in UTF-8", n, clip(fields[0]))
		}
		if err := seg.AddToken(fields[0], freq, pos); err != nil {
			return fmt.Errorf("neardup: user dictionary line %d: %q: %w", n, clip(fields[0]), err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("neardup: user dictionary: %w", err)
	}
	return nil
}
