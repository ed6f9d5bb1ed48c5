package chinese

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-ego/gse"
	"github.com/neardup/neardup/internal/exact"
	"github.com/neardup/neardup/internal/format"
	"github.com/neardup/neardup/internal/lex"
)

// This file loads the dictionary: the one for simplified and traditional Chinese that gse embeds,
// and the words of the user. gse parses its files and keeps the words in a trie. Its probabilities
// are floats, so this file computes costs of its own, as integers, which are the same on every
// platform.

// Load returns the dictionary of gse with the words of the user, if user is not nil. It reads user
// to the end. It takes about two seconds, and the dictionary 40 MB of memory.
func Load(user io.Reader) (*Dictionary, error) {
	seg := gse.Segmenter{SkipLog: true, NotLoadHMM: true, Dict: gse.NewDict()}
	seg.Init()
	// gse ignores a word that it has already, so the first of equal words counts. The words of the
	// user come first, and so their frequencies and parts of speech win.
	if user != nil {
		if err := addUserDict(&seg, user); err != nil {
			return nil, err
		}
	}
	if err := seg.LoadDictEmbed("zh"); err != nil {
		return nil, fmt.Errorf("neardup: gse dictionary: %w", err)
	}
	s := &Dictionary{}
	// The probability of a word is its frequency divided by the total, so its cost is
	// log₂(total) − log₂(frequency), but at least 1: every word costs something.
	total := exact.Log2(seg.Dict.TotalFreq())
	cost := make([]uint32, len(seg.Dict.Tokens))
	tag, tags := make([]int32, len(seg.Dict.Tokens)), map[string]int32{}
	for i := range seg.Dict.Tokens {
		t := &seg.Dict.Tokens[i]
		cost[i] = uint32(max(1, total-exact.Log2(t.Freq())))
		if _, ok := tags[t.Pos()]; !ok {
			tags[t.Pos()] = int32(len(s.tags))
			s.tags = append(s.tags, t.Pos())
		}
		tag[i] = tags[t.Pos()]
		// A sum of hashes, because the order of the words makes no difference to the result.
		s.Digest += format.Checksum(lex.Bytes(t.Text()), format.Checksum(lex.Bytes(t.Pos()), uint64(cost[i])))
	}
	s.trie = newTrie(func(yield func(text string, cost uint32, tag int32) bool) {
		for i := range seg.Dict.Tokens {
			if !yield(seg.Dict.Tokens[i].Text(), cost[i], tag[i]) {
				return
			}
		}
	})
	s.paths.New = func() any { return &path{} }
	return s, nil
}

// addUserDict adds the words that r has, one on a line: the word, and optionally its frequency and
// its part of speech, separated by spaces or tabs. Empty lines and lines that begin with # are
// skipped, and so is a byte order mark. A word without a frequency gets 1000, which nearly always
// wins over shorter words.
//
// gse would accept anything, so the checks are here. It is an error if a line has more than three
// fields; if a frequency is not from 1 to 1e9 (costs need a logarithm that is not negative); if a
// word has more than maxUserWord characters, or could never occur because a sentence ends inside
// it; and if it has invalid UTF-8 or control characters (the trie of gse cannot tell NUL from the
// end of a word). An error gives the number of the line.
func addUserDict(seg *gse.Segmenter, r io.Reader) error {
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line, _ := compose(lines.Text())
		if n == 1 {
			line = strings.TrimPrefix(line, "\ufeff")
		}
		fields := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' || r == '\r' })
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		freq, pos, err := userWord(fields)
		if err != nil {
			return fmt.Errorf("neardup: user dictionary line %d: %w", n, err)
		}
		if err := seg.AddToken(fields[0], freq, pos); err != nil {
			return fmt.Errorf("neardup: user dictionary line %d: %q: %w", n, format.Clip(fields[0]), err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("neardup: user dictionary: %w", err)
	}
	return nil
}

// userWord checks the fields of a line of the user dictionary, of which there must be one at least,
// and returns the frequency and the part of speech of the word. If it returns no error, the word
// may be given to gse.
func userWord(fields []string) (freq float64, pos string, err error) {
	word := fields[0]
	freq = 1000
	if len(fields) > 1 {
		if freq, err = strconv.ParseFloat(fields[1], 64); err != nil || !(freq >= 1 && freq <= 1e9) {
			return 0, "", fmt.Errorf("frequency %q is not a number from 1 to 1e9", format.Clip(fields[1]))
		}
	}
	if len(fields) > 2 {
		pos = fields[2]
	}
	if len(fields) > 3 {
		return 0, "", errors.New("more fields than word, frequency and part of speech")
	}
	if utf8.RuneCountInString(word) > maxUserWord || strings.ContainsAny(word, lex.SentenceEnds) {
		return 0, "", fmt.Errorf("%q has more than %d characters or the end of a sentence", format.Clip(word), maxUserWord)
	}
	if !utf8.ValidString(word) || strings.ContainsFunc(word, func(r rune) bool { return r < utf8.RuneSelf && isControl(byte(r)) }) {
		return 0, "", fmt.Errorf("%q is not a word in UTF-8", format.Clip(word))
	}
	return freq, pos, nil
}
