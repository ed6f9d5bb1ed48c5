package chinese

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-ego/gse"
	"github.com/neardup/neardup/internal/exact"
	"github.com/neardup/neardup/internal/format"
	"github.com/neardup/neardup/internal/lex"
)

// Load loads the dictionary of gse, and before it the words of a user, if there are any.
func Load(user io.Reader) (*Dictionary, error) {
	seg := gse.Segmenter{SkipLog: true, NotLoadHMM: true, Dict: gse.NewDict()}
	seg.Init()
	if user != nil {
		if err := addUserDict(&seg, user); err != nil {
			return nil, err
		}
	}
	if err := seg.LoadDictEmbed("zh"); err != nil {
		return nil, fmt.Errorf("neardup: gse dictionary: %w", err)
	}
	s := &Dictionary{Dict: seg.Dict}
	s.cost = make([]uint32, len(s.Dict.Tokens))
	s.length = make([]uint16, len(s.Dict.Tokens))
	total := exact.Log2(s.Dict.TotalFreq())
	for i := range s.Dict.Tokens {
		t := &s.Dict.Tokens[i]
		s.cost[i] = uint32(max(1, total-exact.Log2(t.Freq())))
		n := 0
		for text := t.Text(); text != ""; n++ {
			size, _ := unit(text)
			text = text[size:]
		}
		s.length[i] = uint16(min(n, math.MaxUint16))
		s.Digest += format.Checksum(lex.Bytes(t.Text()), format.Checksum(lex.Bytes(t.Pos()), uint64(s.cost[i]))) // in any order
	}
	s.paths.New = func() any { return &path{tokens: make([]*gse.Token, s.Dict.MaxTokenLen())} }
	return s, nil
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
				return fmt.Errorf("neardup: user dictionary line %d: frequency %q is not a number from 1 to 1e9", n, format.Clip(fields[1]))
			}
		}
		if len(fields) > 2 {
			pos = fields[2]
		}
		if len(fields) > 3 {
			return fmt.Errorf("neardup: user dictionary line %d: more than word, frequency and part of speech", n)
		}
		if utf8.RuneCountInString(fields[0]) > maxUserWord || strings.ContainsAny(fields[0], SentenceEnds) {
			return fmt.Errorf("neardup: user dictionary line %d: %q has more than %d characters or the end of a sentence", n, format.Clip(fields[0]), maxUserWord)
		}
		if !utf8.ValidString(fields[0]) || strings.ContainsFunc(fields[0], func(r rune) bool { return r < utf8.RuneSelf && isControl(byte(r)) }) {
			return fmt.Errorf("neardup: user dictionary line %d: %q is not a word in UTF-8", n, format.Clip(fields[0]))
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
