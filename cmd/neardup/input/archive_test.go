package input

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/cmd/neardup/cli"
)

// pagesIn returns the texts of an archive, and what is said of it.
func pagesIn(t *testing.T, archive []byte) (texts []string, notes string, err error) {
	t.Helper()
	s := &Source{Path: "x.warc", Format: "warc"}
	r, finish, err := cli.Decompress(bytes.NewReader(archive), s.Path, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer finish()
	cols := Columns{ID: "id", Text: "text"}
	err = s.Read(0, r, cols, 1<<20, func(it Item) bool {
		if it.Err != nil {
			texts = append(texts, "error: "+it.Err.Error())
		} else {
			texts = append(texts, it.Row[4])
		}
		return true
	})
	return texts, strings.Join(s.Notes, "; "), err
}

// TestArchiveLengths: lengths that are wrong by any number of bytes lose no record, whether records are compressed one by one, together or not
// at all; nor do changed line ends, and other bytes between records.
func TestArchiveLengths(t *testing.T) {
	const records = 4
	text := func(i int) string {
		return strings.Repeat(fmt.Sprintf("Page %d has some words.\r\nAnd more.\r\n", i), 1+i)
	}
	record := func(i, wrong int) string {
		body := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n%s", text(i))
		return fmt.Sprintf("WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://e.test/%d\r\nContent-Type: application/http\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n", i, len(body)+wrong, body)
	}
	packings := map[string]func(records []string) []byte{
		"plain": func(r []string) []byte { return []byte(strings.Join(r, "")) },
		"whole": func(r []string) []byte { return packed(strings.Join(r, "")) },
		"each": func(r []string) (all []byte) {
			for _, one := range r {
				all = append(all, packed(one)...)
			}
			return all
		},
	}
	for wrong := -40; wrong <= 300; wrong++ {
		if next := len(record(2, wrong)); wrong >= next-4 && wrong <= next+4 {
			continue // the length is that of two records, which is what the archive has then
		}
		for name, pack := range packings {
			all := []string{record(0, 0)}
			for i := 1; i < records-1; i++ {
				all = append(all, record(i, wrong))
			}
			all = append(all, record(records-1, 0))
			got, notes, err := pagesIn(t, pack(all))
			if err != nil || len(got) != records {
				t.Fatalf("%s, wrong by %d: %q, %s, %v", name, wrong, got, notes, err)
			}
			for i := range records {
				if trimmed := strings.TrimRight(got[i], "\r\n"); trimmed != strings.TrimRight(text(i), "\r\n") {
					t.Fatalf("%s, wrong by %d: record %d is %q", name, wrong, i, got[i])
				}
			}
			if isSaid := strings.Contains(notes, "with a wrong length: 2"); !isSaid && (wrong < -2 || wrong > 4) || isSaid && wrong == 0 {
				t.Fatalf("%s, wrong by %d: it says %q", name, wrong, notes)
			}
		}
	}
	changed := strings.ReplaceAll(record(1, 0)+record(2, 0)+record(3, 0), "\r\n", "\n")
	if got, notes, err := pagesIn(t, []byte(changed)); err != nil || len(got) != 3 || slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, "error") || strings.Contains(s, "WARC") }) {
		t.Errorf("with line feeds: %q, %s, %v", got, notes, err)
	}
	if got, notes, err := pagesIn(t, []byte(record(1, 0)+"what is this\r\n\r\n"+record(2, 0))); err != nil || len(got) != 2 || !strings.Contains(notes, "wrong length: 1") {
		t.Errorf("with bytes between: %q, %s, %v", got, notes, err)
	}
	if got, _, err := pagesIn(t, []byte(record(1, 0)+record(2, 500))); err != nil || len(got) != 2 || !strings.Contains(got[1], "cut off") {
		t.Errorf("cut off: %q, %v", got, err)
	}
	var many strings.Builder // each of which says that it has all that follows
	for i := range 3000 {
		many.WriteString(record(i%7, 300_000))
	}
	if got, notes, err := pagesIn(t, []byte(many.String())); err != nil || len(got) != 3000 || !strings.Contains(notes, "wrong length: 3000") {
		t.Errorf("all lengths too large: %d records, %s, %v", len(got), notes, err)
	}
	blank := record(1, -10) + strings.Repeat("\r\n", 200_000) + record(2, 0)
	if got, _, err := pagesIn(t, []byte(blank)); err != nil || len(got) != 2 {
		t.Errorf("many empty lines: %d records, %v", len(got), err)
	}
	if _, _, err := pagesIn(t, []byte("no archive at all\n")); err == nil {
		t.Error("no archive is no error")
	}
}

func packed(text string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, text)
	z.Close()
	return b.Bytes()
}

// TestARC reads the older form of archives, with both kinds of headers, and lengths that are wrong.
func TestARC(t *testing.T) {
	page := "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nThe ferry left the harbour."
	for _, wrong := range []int{-20, -1, 0, 1, 9, 60} {
		archive := "filedesc://x.arc 0.0.0.0 20060101000000 text/plain 76\n1 0 Test\nURL IP-address Archive-date Content-type Archive-length\n" + strings.Repeat(" ", 13) + "\n" +
			"dns:e.test 0.0.0.0 20060101000001 text/dns 5\n1.2.3\n" +
			fmt.Sprintf("http://e.test/a 1.2.3.4 20060102030405 text/html %d\n%s\n", len(page)+wrong, page) +
			fmt.Sprintf("http://e.test/b 1.2.3.4 20060102030405 text/html 200 sum - 0 x.arc %d\n%s\n", len(page), page)
		s := &Source{Path: "x.arc", Format: "warc"}
		var ids []string
		err := s.Read(0, strings.NewReader(archive), Columns{ID: "id", Text: "text"}, 1<<20, func(it Item) bool {
			if it.Err != nil {
				t.Errorf("wrong by %d: %v", wrong, it.Err)
				return true
			}
			ids = append(ids, it.Row[0])
			if it.Row[1] != "2006-01-02T03:04:05Z" || strings.TrimSpace(it.Row[4]) != "The ferry left the harbour." {
				t.Errorf("wrong by %d: %q", wrong, it.Row)
			}
			return true
		})
		if err != nil || !slices.Equal(ids, []string{"http://e.test/a", "http://e.test/b"}) {
			t.Errorf("wrong by %d: %q, %v, %q", wrong, ids, err, s.Notes)
		}
	}
}
