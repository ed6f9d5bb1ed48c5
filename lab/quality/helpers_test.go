package quality

import (
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"testing"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/lab/dataset"
	"github.com/neardup/neardup/lab/must"
)

// labelled returns the documents of a collection and the pairs of positions that are near-duplicates, or skips.
func labelled(t *testing.T, set string) (docs []dataset.Document, truth map[neardup.Pair[int]]bool) {
	t.Helper()
	dir := os.Getenv("NEARDUP_DATA")
	if dir == "" || testing.Short() {
		t.Skip("takes long, and wants NEARDUP_DATA")
	}
	docs = must.Get(dataset.Read(filepath.Join(dir, set, "docs.jsonl.gz")))
	truth = map[neardup.Pair[int]]bool{}
	for p := range must.Get(dataset.ReadTruth(filepath.Join(dir, set, "truth.tsv"), docs)) {
		truth[neardup.Pair[int]{A: p[0], B: p[1]}] = true
	}
	return docs, truth
}

// texts returns titles and texts of documents.
func texts(docs []dataset.Document) (all []string) {
	for _, d := range docs {
		all = append(all, d.Whole())
	}
	return all
}

// nameOf returns a name for a tokenizer.
func nameOf(t neardup.Tokenizer) string {
	if _, ok := t.(*neardup.Segmenter); ok {
		return "gse"
	}
	return fmt.Sprintf("%T%+v", t, t)
}

// stepsOf returns a name for the steps of a Normalizer.
func stepsOf(n neardup.Normalizer) string {
	return must.Get((&neardup.Fingerprinter{Normalizer: n}).Version())
}

// certain yields pairs that have no errors.
func certain(pairs map[neardup.Pair[int]]bool) iter.Seq2[neardup.Pair[int], error] {
	return func(yield func(neardup.Pair[int], error) bool) {
		for p := range pairs {
			if !yield(p, nil) {
				return
			}
		}
	}
}
