package cost

import (
	"bytes"
	"strings"
	"testing"
)

// TestAdvice: a collection gets the smallest engine that can hold it, and commands that exist.
func TestAdvice(t *testing.T) {
	costs := func(seconds, bytes float64) []cost {
		return []cost{{"auto", 10 * seconds, 4 * bytes, "1.000"}, {"minhash", 2 * seconds, 2 * bytes, "0.920"}, {"simhash", seconds, bytes / 4, "0.200"}}
	}
	for _, c := range []struct {
		documents float64
		costs     []cost
		has, not  string
	}{
		{1e6, costs(6, 1e9), "neardup dedup 'my file.jsonl' b --out cleaned.csv", "neardup-beam"},
		{2e7, costs(200, 20e9), "This machine is enough, and needs about 33m20s", "neardup sql"}, // auto keeps texts in files
		{1e8, costs(600, 100e9), "--method simhash", "too small"},
		{1e9, costs(20_000, 1000e9), "neardup-beam -input 'my file.jsonl',b -output cleaned/ -method minhash -documents 1e+09", "neardup dedup"},
		{1e9, costs(20_000, 1000e9), "neardup sql bigquery --table fingerprints --documents 1000000000", "neardup dedup"},
	} {
		var out bytes.Buffer
		advise(&out, c.costs, c.documents, 32e9, []string{"my file.jsonl", "b"}, "cleaned.csv")
		if has := strings.TrimSuffix(c.has, "*"); !strings.Contains(out.String(), has) || strings.Contains(out.String(), c.not) {
			t.Errorf("%g documents: it says\n%s", c.documents, out.String())
		}
	}
}
