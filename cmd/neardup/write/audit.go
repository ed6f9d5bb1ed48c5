package write

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/cmd/neardup/output"
	"github.com/neardup/neardup/cmd/neardup/together"
)

// This file writes the audit (--audit): for each document that is removed, what somebody else needs to check that this was right, without
// this program's opinion. That is which document is kept in its place, where both stand, hashes of their texts, and how many words they
// have in common. The command verify checks it, with code of its own.

// AuditColumns are those of the audit, except that similarity may be called otherwise.
var AuditColumns = []string{"removed", "at", "kept", "kept_at", "group", "size", "similarity", "kind", "probability", "shared", "text_sha256", "kept_text_sha256", "sha256", "kept_sha256", "settings"}

// audit writes a row for each document that is removed. The similarity is not known if other documents
// connect the two (--linkage single). The place and the text are not known of a document of an earlier call.
func (r *Results) audit(w *cli.Output) error {
	sums, wait := r.sums() // while the texts are read
	texts, err := r.textsOfGroups()
	if err := cmp.Or(wait(), err); err != nil {
		return err
	}
	defer texts.file.Close()
	var removed []int
	for i := r.Old; i < r.Docs.Len(); i++ {
		if !r.Groups.IsKept(i) {
			removed = append(removed, i)
		}
	}
	settings := r.settings() + fmt.Sprintf(" removed=%d", len(removed)) // so that an audit that is cut off is seen
	names := slices.Clone(AuditColumns)
	names[6] = r.Options.Method.ValueName()
	r.Groups.Sizes() // which the workers share
	t := output.NewTable(w, r.Options.Audit, names...)
	err = t.Rows(r.Options.Workers, len(removed), func(n int) ([]any, error) { return r.auditRow(removed[n], texts, sums, settings) })
	return cmp.Or(err, t.End())
}

// auditRow returns the row of a document that is removed. What is not known is nil.
func (r *Results) auditRow(i int, texts *storedTexts, sums []any, settings string) ([]any, error) {
	root, named := int(r.Groups.Kept[i]), r.Groups.Of(i)
	doc, kept := r.Doc(i), r.Doc(root)
	shared, hash, keptHash, err := texts.compare(i, root)
	if err != nil {
		return nil, err
	}
	var value, kind, probability any
	if p, ok := r.Groups.LikeOf(i); ok {
		value = json.Number(r.Options.Method.Show(p.Value))
		if p.Probability > 0 {
			kind, probability = p.Kind.String(), json.Number(fmt.Sprintf("%.4f", p.Probability))
		}
	}
	var keptAt, keptSum any // not known of a document of an earlier call, nor of a saved fingerprint
	if kept.Place != input.NoPlace && r.Sources[kept.Source].Format != input.Fingerprints {
		keptAt, keptSum = r.At(kept.Place), sums[kept.Source]
	}
	return []any{doc.ID, r.At(doc.Place), kept.ID, keptAt, r.Doc(named).ID, r.Groups.Sizes()[named], value, kind, probability, shared, hash, keptHash, sums[doc.Source], keptSum, settings}, nil
}

// sums starts to hash the sources. The result has the SHA-256 of each, nil for what is not a file, and is complete once wait returns.
func (r *Results) sums() (sums []any, wait func() error) {
	sums, errs := make([]any, len(r.Sources)), make([]error, len(r.Sources))
	var wg sync.WaitGroup
	wg.Go(func() {
		together.Each(r.Options.Workers, len(r.Sources), func(i int) {
			var sum string
			if sum, errs[i] = r.Sources[i].Sum(); sum != "" {
				sums[i] = sum
			}
		})
	})
	return sums, func() error {
		wg.Wait()
		return cmp.Or(errs...)
	}
}

// storedTexts are texts of documents in a file without a name, which goes when it is closed.
type storedTexts struct {
	file *os.File
	docs []int32 // their numbers, in order
	ends []int64 // where their texts end in the file
}

// read returns the text of a document, and whether it is there.
func (s *storedTexts) read(doc int) (text string, ok bool, err error) {
	n, ok := slices.BinarySearch(s.docs, int32(doc))
	if !ok {
		return "", false, nil
	}
	begin := int64(0)
	if n > 0 {
		begin = s.ends[n-1]
	}
	b := make([]byte, s.ends[n]-begin)
	_, err = s.file.ReadAt(b, begin)
	return string(b), true, err
}

// compare returns which share of their words a document that is removed and the one that is kept have in common, and the hashes of their texts. What is
// not known is nil.
func (s *storedTexts) compare(removed, kept int) (shared, hash, keptHash any, err error) {
	a, _, err := s.read(removed)
	if err != nil {
		return nil, nil, nil, err
	}
	b, isKnown, err := s.read(kept)
	if !isKnown || err != nil {
		return nil, hashOf(a), nil, err
	}
	return json.Number(fmt.Sprintf("%.4f", sharedWords(a, b))), hashOf(a), hashOf(b), nil
}

// textsOfGroups reads the sources again, for the texts of the documents of groups of more than one.
func (r *Results) textsOfGroups() (*storedTexts, error) {
	wanted := make([]bool, r.Docs.Len())
	for i := r.Old; i < r.Docs.Len(); i++ {
		if root := int(r.Groups.Kept[i]); root != i {
			wanted[i], wanted[root] = true, true
		}
	}
	file, err := input.Temporary()
	if err != nil {
		return nil, err
	}
	s := &storedTexts{file: file}
	w, end := bufio.NewWriterSize(file, 1<<20), int64(0)
	err = r.EachWholeText(func(i int) bool { return wanted[i] }, func(i int, text string) error {
		end += int64(len(text))
		s.docs, s.ends = append(s.docs, int32(i)), append(s.ends, end)
		_, err := w.WriteString(text)
		return err
	})
	if err = cmp.Or(err, w.Flush()); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return s, nil
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// sharedWords returns how many words two texts have in common: twice the number of words of one that have a partner in the other, divided
// by the number of words of both. docs/program.md says what a word is.
func sharedWords(a, b string) float64 {
	count, common, all := map[string]int{}, 0, 0
	for word := range wordsOf(a) {
		count[word]++
		all++
	}
	for word := range wordsOf(b) {
		if count[word] > 0 {
			count[word]--
			common += 2
		}
		all++
	}
	if all == 0 {
		if a == b {
			return 1
		}
		return 0
	}
	return float64(common) / float64(all)
}

// alone are the scripts whose words have no space between them. Each of their characters is a word.
var alone = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan}

// wordsOf yields the words of a text, in lower case.
func wordsOf(text string) func(yield func(string) bool) {
	text = strings.ToLower(text) // which also replaces bytes that are not UTF-8
	return func(yield func(string) bool) {
		begin := 0
		for i, r := range text {
			inWord := unicode.In(r, unicode.L, unicode.M, unicode.N)
			if inWord && !(r >= 0x0E00 && unicode.In(r, alone...)) {
				continue
			}
			if begin < i && !yield(text[begin:i]) {
				return
			}
			begin = i + utf8.RuneLen(r)
			if inWord && !yield(text[i:begin]) {
				return
			}
		}
		if begin < len(text) {
			yield(text[begin:])
		}
	}
}
