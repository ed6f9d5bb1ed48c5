package neardup

import (
	"os"
	"strings"
	"testing"
)

// TestScripts cuts real sentences in many scripts and compares with the tokens of
// testdata/scripts.tsv.
func TestScripts(t *testing.T) {
	const file = "testdata/scripts.tsv"
	tokenizers := map[string]Tokenizer{"words": Words{}, "ngrams2": NGrams{2}, "ngrams3": NGrams{3}}
	if *full {
		tokenizers["gse"] = loadSegmenter(t)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var updated strings.Builder
	checked := 0
	for line := range strings.Lines(string(data)) {
		col := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		tok, ok := tokenizers[col[1]]
		if !ok {
			updated.WriteString(line)
			continue // the header, or a dictionary in a short test
		}
		got := texts(tok, col[2])
		updated.WriteString(strings.Join(append(col[:3], got), "\t") + "\n")
		if !*update && got != col[3] {
			t.Errorf("%s, %s of %q:\n%s, want\n%s", col[0], col[1], col[2], got, col[3])
		}
		checked++
	}
	if checked < 40 {
		t.Errorf("only %d lines", checked)
	}
	if *update {
		if err := os.WriteFile(file, []byte(updated.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
