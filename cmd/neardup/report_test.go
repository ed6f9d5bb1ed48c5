package main

import (
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A shownPage is what a page of review has.
type shownPage struct {
	Documents   int
	IDs, Places []string
	Groups      [][3]int
	A, B        []int
	Why         map[string][]any
	texts       []string
}

// readPage reads a page.
func readPage(t *testing.T, path string) (p shownPage) {
	t.Helper()
	page := read(t, path)
	data := regexp.MustCompile(`id="data">(.*?)</script>`).FindStringSubmatch(page)
	if data == nil {
		t.Fatalf("%s has no data", path)
	}
	if err := json.Unmarshal([]byte(data[1]), &p); err != nil {
		t.Fatal(err)
	}
	for _, block := range regexp.MustCompile(`class="texts">(.*?)</script>`).FindAllStringSubmatch(page, -1) {
		z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(block[1])))
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(z)
		var texts []string
		if err != nil || json.Unmarshal(b, &texts) != nil {
			t.Fatal(err)
		}
		p.texts = append(p.texts, texts...)
	}
	return p
}

// TestReportOld: the page of a call with old documents shows them and their texts, whether they are read from files or of earlier calls, and
// has no pairs of two old ones.
func TestReportOld(t *testing.T) {
	dir := t.TempDir()
	old := `{"id":"a","text":"The bridge across the river will be repaired in May, says the council of the town."}` + "\n" +
		`{"id":"b","text":"The bridge across the river will be repaired in May, says the mayor of the town."}` + "\n" +
		`{"id":"x","text":"Something else altogether, about fish, and chips, and peas, and vinegar."}` + "\n"
	fresh := `{"id":"c","text":"The bridge across the river will be mended in May, says the council of the town."}` + "\n" +
		`{"id":"y","text":"A text that is like no other one, of nine words or more."}` + "\n"
	os.WriteFile(filepath.Join(dir, "old.jsonl"), []byte(old), 0o666)
	os.WriteFile(filepath.Join(dir, "new.jsonl"), []byte(fresh), 0o666)
	if status, _, errs := inDirectory(t, dir, "dedup", "-q", "--state", "s", "old.jsonl"); status != 0 {
		t.Fatal(errs)
	}
	for flags, place := range map[string]string{"--against old.jsonl": "old.jsonl:1", "--state s": "from an earlier run"} {
		args := append([]string{"dedup", "-q", "--report", "r.html"}, strings.Fields(flags)...)
		if status, _, errs := inDirectory(t, dir, append(args, "new.jsonl")...); status != 0 {
			t.Fatal(errs)
		}
		p := readPage(t, "r.html")
		if p.Documents != 2 || len(p.A) < 2 || len(p.IDs) < 3 || len(p.Why) != len(p.A) {
			t.Errorf("%s: %+v", flags, p)
		}
		for i := range p.A {
			if p.IDs[p.A[i]] != "c" && p.IDs[p.B[i]] != "c" {
				t.Errorf("%s: a pair of %q and %q", flags, p.IDs[p.A[i]], p.IDs[p.B[i]])
			}
		}
		for i, id := range p.IDs {
			want := map[string]string{"a": "says the council of the town", "b": "says the mayor", "c": "will be mended", "x": "about fish", "y": "like no other"}[id]
			if !strings.Contains(p.texts[i], want) || id == "a" && p.Places[i] != place {
				t.Errorf("%s: %s at %s has the text %q", flags, id, p.Places[i], p.texts[i])
			}
			if grouped := id == "a" || id == "c" || id == "b" && flags == "--state s"; grouped != (p.Groups[i][0] == 1) || grouped && (p.Groups[i][1] < 2 || (p.Groups[i][2] == 1) != (id == "a")) {
				t.Errorf("%s: %s is in group %v", flags, id, p.Groups[i])
			}
		}
	}
}
