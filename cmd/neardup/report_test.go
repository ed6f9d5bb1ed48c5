package main

import (
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/neardup/neardup/internal/server"
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

// TestMarks: Chromium marks only the characters that differ, in Chinese, which does not separate words, as in English.
func TestMarks(t *testing.T) {
	t.Chdir(t.TempDir())
	page, err := filepath.Abs("page.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ a, b, gone, come string }{
		{"A股市场2024年收盘上涨，第3章内容较长，请仔细阅读全部说明后再填写表格。", "A股市场2025年收盘上涨，第3章内容较长，请仔细阅读全部说明后再填写表格", "2024|。", "2025"},
		{"The library stays open until ten in the evening, from Monday to Friday.", "The library stays open until nine in the evening, from Monday to Friday!", "ten|.", "nine|!"},
		{"図書館は平日の夜十時まで開いていますのでご利用ください", "図書館は平日の夜九時まで開いていますのでご利用ください。", "十", "九|。"},
	} {
		a, _ := json.Marshal(map[string]string{"id": "a", "text": test.a})
		b, _ := json.Marshal(map[string]string{"id": "b", "text": test.b})
		if err := os.WriteFile("in.jsonl", fmt.Appendf(nil, "%s\n%s\n", a, b), 0o666); err != nil {
			t.Fatal(err)
		}
		if status, _, stderr := callHere("review", "in.jsonl", "--report", page, "--quiet"); status != 0 {
			t.Fatal(stderr)
		}
		dom, err := exec.CommandContext(t.Context(), server.Chromium(t), "--headless=new", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=4000", "--dump-dom", "file://"+page).Output()
		if err != nil {
			t.Fatal(err)
		}
		os.Remove(page)
		for tag, want := range map[string]string{"del": test.gone, "ins": test.come} {
			var marked []string
			for _, m := range regexp.MustCompile("<"+tag+`>([^<"]*)</`+tag+">").FindAllSubmatch(dom, -1) {
				marked = append(marked, string(m[1]))
			}
			if got := strings.Join(marked, "|"); got != want {
				t.Errorf("%s: %s is marked in %s, not %s", test.a, got, tag, want)
			}
		}
	}
}
