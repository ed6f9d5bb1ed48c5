package quality

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/lab/dataset"
	"github.com/neardup/neardup/lab/must"
)

// labelled returns the documents of a collection and the pairs of positions that are near-duplicates, or skips.
func labelled(t *testing.T, set string) (docs []dataset.Document, truth dataset.Truth) {
	t.Helper()
	dir := os.Getenv("NEARDUP_DATA")
	if dir == "" || testing.Short() {
		t.Skip("takes long, and wants NEARDUP_DATA")
	}
	docs = must.Get(dataset.Read(filepath.Join(dir, set, "docs.jsonl.gz")))
	return docs, must.Get(dataset.ReadTruth(filepath.Join(dir, set, "truth.tsv"), docs))
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
