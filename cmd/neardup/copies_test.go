package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// This file tests how many documents of a group are kept (--copies).

// copies writes a file with a text of its own, and one that occurs several times.
func copies(t *testing.T, path string, from, n int) {
	t.Helper()
	var b strings.Builder
	for i := from; i < from+n; i++ {
		fmt.Fprintf(&b, "{\"id\": \"c%d\", \"text\": \"The harbour office answers within five working days, whoever asks, and in the language of the letter.\"}\n", i)
	}
	fmt.Fprintf(&b, "{\"id\": \"o%d\", \"text\": \"%s\"}\n", from, []string{"Bread rises slowly in a cold kitchen, so the dough is made the evening before.", "Three keepers look after the northern lighthouse, and none of them has ever seen it from the sea."}[from%2])
	if err := os.WriteFile(path, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
}

// idsIn returns the ids in a file of documents.
func idsIn(t *testing.T, path string) (ids []string) {
	t.Helper()
	for line := range strings.Lines(read(t, path)) {
		var doc struct{ ID string }
		if err := json.Unmarshal([]byte(line), &doc); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, doc.ID)
	}
	return ids
}

// TestCopies: of nine equal texts as many are kept as --copies says, whatever the method, and the outputs agree.
func TestCopies(t *testing.T) {
	t.Chdir(t.TempDir())
	copies(t, "in.jsonl", 0, 9)
	for _, test := range []struct {
		flags []string
		want  string
	}{
		{nil, "c0 o0"}, {[]string{"--copies=3"}, "c0 c1 c2 o0"}, {[]string{"--copies=sqrt", "--method=minhash"}, "c0 c1 c2 o0"}, {[]string{"--copies=log2", "--method=simhash"}, "c0 c1 c2 c3 o0"},
		{[]string{"--copies=100"}, "c0 c1 c2 c3 c4 c5 c6 c7 c8 o0"}, {[]string{"--copies=2", "--keep=newest"}, "c7 c8 o0"},
	} {
		status, out, stderr := callHere(append([]string{"dedup", "--out=out.jsonl", "--annotate=all.csv", "--audit=audit.csv", "in.jsonl"}, test.flags...)...)
		if status != 0 {
			t.Fatal(stderr)
		}
		if got := strings.Join(idsIn(t, "out.jsonl"), " "); got != test.want {
			t.Errorf("%q: %s are kept, not %s", test.flags, got, test.want)
		}
		kept := len(strings.Fields(test.want))
		if n := strings.Count(read(t, "all.csv"), ",no,"); n != 10-kept {
			t.Errorf("%q: %d documents are marked as not kept", test.flags, n)
		}
		if n := strings.Count(read(t, "audit.csv"), "\n") - 1; n != 10-kept {
			t.Errorf("%q: the audit has %d documents", test.flags, n)
		}
		if remain := fmt.Sprintf("%d documents remain", kept); !strings.Contains(out, remain) {
			t.Errorf("%q: %s", test.flags, out)
		}
	}
	for _, wrong := range []string{"0", "-1", "many", "1.5"} {
		if status, _, stderr := callHere("dedup", "--copies="+wrong, "in.jsonl"); status != 2 || !strings.Contains(stderr, "--copies") {
			t.Errorf("%s: %d, %s", wrong, status, stderr)
		}
	}
}

// TestCopiesLater: what earlier runs have kept counts.
func TestCopiesLater(t *testing.T) {
	t.Chdir(t.TempDir())
	copies(t, "a.jsonl", 0, 2)
	copies(t, "b.jsonl", 11, 4)
	copies(t, "c.jsonl", 21, 2)
	for _, run := range [][2]string{{"a.jsonl", "c0 c1 o0"}, {"b.jsonl", "c11 o11"}, {"c.jsonl", "o21"}} {
		if status, _, stderr := callHere("dedup", "--copies=3", "--state=s", "--out=out.jsonl", run[0]); status != 0 {
			t.Fatal(stderr)
		}
		if got := strings.Join(idsIn(t, "out.jsonl"), " "); got != run[1] {
			t.Errorf("of %s %q are kept, not %q", run[0], got, run[1])
		}
	}
	if status, _, stderr := callHere("dedup", "--copies=3", "--against=a.jsonl", "--out=out.jsonl", "b.jsonl"); status != 0 {
		t.Fatal(stderr)
	}
	if got := strings.Join(idsIn(t, "out.jsonl"), " "); got != "c11 c12 o11" {
		t.Errorf("beside the one of the old collection %s are kept", got)
	}
}
