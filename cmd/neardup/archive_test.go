package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWARC reads a web archive of wget: pages in several encodings, packed and in chunks, and one that was got twice. What is no page is said.
func TestWARC(t *testing.T) {
	status, out, errs := inFormats(t, "dedup", "--same-id", "first", "--out", "o.jsonl", "--groups", "c", "pages.warc.gz")
	if status != 0 || !strings.Contains(errs, "records skipped: 13 not pages, 1 neither HTML nor plain text, 3 server errors or redirects") || !strings.Contains(out, "1 document was dropped because another one has the same id") {
		t.Fatalf("status %d: %s%s", status, out, errs)
	}
	site := "http://127.0.0.1:8765/"
	got := read(t, "o.jsonl")
	for _, want := range []string{
		`{"id":"` + site + `a.html","date":"2026-11-24T19:30:19Z","status":"200","type":"text/html","text":"Roads\nThe council will repair the bridge across the river in May & June of this year.\n`,
		`"text":"请市政府尽快修复中山路的路面，那里有很多坑洼，老人和孩子出行很不方便。\n"`,
		`"type":"text/plain","text":"A plain text about fish and chips, and peas, for the two of us.\n"`,
		`"text":"Something about a harbour, packed by the server with gzip, in many words."`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in %s", want, got)
		}
	}
	if groups := read(t, "c"); !strings.Contains(groups, site+"b.html\t"+site+"a.html\n") || strings.Count(groups, "\n") != 5 {
		t.Errorf("groups %s", groups)
	}
	// Texts of Common Crawl, a body that is cut off, an unknown encoding, and an archive that is damaged behind a record.
	record := func(kind, uri, mime, body string) string {
		return fmt.Sprintf("WARC/1.0\r\nWARC-Type: %s\r\nWARC-Target-URI: %s\r\nWARC-Date: 2026-01-01T00:00:00Z\r\nWARC-Record-ID: <urn:uuid:3a322f93-7c4b-4ba4-9b79-d9eab4031c88>\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n", kind, uri, mime, len(body), body)
	}
	http := func(headers, body string) string { return "HTTP/1.1 200 OK\r\n" + headers + "\r\n" + body }
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write([]byte("<p>" + strings.Repeat("one two three ", 1000)))
	z.Close()
	archive := record("conversion", "x:wet", "text/plain", "Ein Text über Häuser") +
		record("response", "x:cut", "application/http; msgtype=response", http("Content-Type: text/html; charset=ISO-8859-1\r\nContent-Length: 500\r\n", "<p>caf\xe9 au lait")) +
		record("response", "x:utf", "application/http; msgtype=response", http("Content-Type: text/html; charset=ISO-8859-1\r\n", "<p>déjà vu and other words that are not there")) +
		record("response", "x:unpacked", "application/http; msgtype=response", http("Content-Type: text/html\r\nContent-Encoding: gzip\r\nTransfer-Encoding: identity\r\n", "<p>not packed any more")) +
		record("response", "x:packed", "application/http; msgtype=response", http("Content-Type: text/html\r\nContent-Encoding: gzip\r\n", packed.String())) +
		record("response", "x:russian", "Application/HTTP", http("Content-Type: text/html\r\n", "<meta charset=windows-1251><p>\xcf\xf0\xe8\xe2\xe5\xf2 \xec\xe8\xf0")) +
		record("response", "x:chunks", "", http("Content-Type: text/plain\r\nContent-Encoding: br\r\nTransfer-Encoding: chunked\r\n", "5;name=\"a long value\"\r\nchunk\r\n3         \r\ned!\r\n0\r\n\r\n")) +
		record("response", "x:cjk", "application/http", http("Content-Type: text/html; charset=gb2312\r\nContent-Encoding: br\r\n", "<p>请市政府修路")) +
		record("response", "x:odd", "application/http; msgtype=response", http("Content-Type: text/html\r\nContent-Encoding: rot13\r\n", "<c>")) +
		record("response", "x:none", "application/http; msgtype=response", "nothing")
	dir := t.TempDir()
	os.WriteFile(filepath.Join(dir, "x.wet"), []byte(archive+record("conversion", "x:end", "text/plain", strings.Repeat("more ", 100))[:400]), 0o666)
	status, _, errs = inDirectory(t, dir, "dedup", "--skip-bad", "--out", "o.jsonl", "--max-line", "20000", "x.wet")
	got = read(t, "o.jsonl")
	for _, want := range []string{`"x:wet","date":"2026-01-01T00:00:00Z","status":"","type":"text/plain","text":"Ein Text über Häuser"`, `"text":"café au lait"`, `"text":"déjà vu and other words that are not there"`, `"text":"not packed any more"`, `"text":"one two three one two`, `"id":"x:russian","date":"2026-01-01T00:00:00Z","status":"200","type":"text/html","text":"Привет мир"`, `"text":"chunked!"`, `"text":"请市政府修路"`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in %.2000s", want, got)
		}
	}
	for _, want := range []string{`x.wet:9: unknown content encoding "rot13"`, "x.wet:10: not an HTTP response", "x.wet:11: the record is cut off"} {
		if status != 0 || !strings.Contains(errs, want) {
			t.Errorf("%s is not in %s", want, errs)
		}
	}
	if status, _, errs := inDirectory(t, dir, "dedup", "--skip-bad", "--max-line", "5000", "x.wet"); status != 0 || !strings.Contains(errs, "x.wet:5: longer than --max-line") {
		t.Errorf("a text that is too long: %s", errs)
	}
	if status, _, errs := inDirectory(t, dir, "dedup", "--out", "o.warc", "x.wet"); status != 1 || !strings.Contains(errs, "cannot be written") {
		t.Errorf("status %d: %s", status, errs)
	}
}

// TestArrowFile reads a file of Arrow that its library in JavaScript wrote (with a dictionary of texts), and what this program writes.
func TestArrowFile(t *testing.T) {
	want := `{"id":"a","text":"The council will repair the bridge across the river in May of this year.","n":1,"x":0.1,"flag":true,"at":"2026-11-24T13:04:05.25Z","day":"2026-02-28","list":["x",null,"y"],"meta":{"k":1,"s":"one"}}` + "\n" +
		`{"id":"c","text":"Something else altogether.","n":3,"x":null,"flag":null,"at":"1969-12-31T23:59:59Z","day":"1969-12-31","list":null,"meta":null}` + "\n"
	dir := formatFiles(t)
	for _, step := range [][2]string{{"types.arrow", "o.jsonl"}, {"types.arrow", "o.feather"}, {"o.feather", "o.jsonl"}, {"o.feather", "o.parquet"}, {"o.parquet", "o.arrow"}, {"o.arrow", "o.jsonl"}} {
		if status, _, errs := inDirectory(t, dir, "dedup", "-q", "--out", step[1], step[0]); status != 0 {
			t.Fatalf("%s: %s", step, errs)
		}
		if got := read(t, "o.jsonl"); got != want {
			t.Errorf("%s: %s", step, got)
		}
	}
	// Columns within structs, lists as texts, and tables of text.
	if status, out, errs := inDirectory(t, dir, "dedup", "-q", "--id", "meta.s", "--text", "list", "--groups", "-", "--skip-bad", "types.arrow"); status != 0 || out != "one\tone\n" || !strings.Contains(errs, "types.arrow:2: the id is empty") {
		t.Errorf("status %d: %q, %s", status, out, errs)
	}
	if status, _, errs := inDirectory(t, dir, "dedup", "-q", "--out", "o.csv", "types.arrow"); status != 0 || !strings.Contains(read(t, "o.csv"), `2026-11-24T13:04:05.25Z,2026-02-28,"[""x"",null,""y""]","{""k"":1,""s"":""one""}"`) {
		t.Errorf("status %d: %s, %s", status, errs, read(t, "o.csv"))
	}
	b := []byte(read(t, "types.arrow"))
	for cut := 0; cut < len(b); cut += 101 {
		os.WriteFile("cut.arrow", b[:cut], 0o666)
		if status, _, errs := inDirectory(t, dir, "dedup", "-q", "cut.arrow"); status != 1 || !strings.Contains(errs, "cut.arrow:") {
			t.Fatalf("cut off after %d bytes: status %d, %s", cut, status, errs)
		}
	}
}

// TestParquetIDs: an id is what a column holds, not what the file stores for it: a decimal number, a time, a number of 64 bits without a sign.
func TestParquetIDs(t *testing.T) {
	for column, want := range map[string]string{"price": "1.50", "big": "123456789012345678901234.5", "instant": "2026-11-24T13:04:05Z", "day": "1969-12-31", "clock": "06:07:08", "large": "18446744073709551615", "f32": "0.1", "flag": "true", "uuid": "01234567-89ab-cdef-0123-456789abcdef"} {
		status, out, errs := inFormats(t, "dedup", "-q", "--skip-bad", "--id", column, "--groups", "-", "types.parquet")
		if got, _, _ := strings.Cut(out, "\t"); status != 0 || got != want {
			t.Errorf("%s is %q, %s", column, got, errs)
		}
	}
}

// TestHTMLEncoding: a page is read in the encoding that it tells, and if nobody knows it that is said.
func TestHTMLEncoding(t *testing.T) {
	noise := make([]byte, 3000) // no text in any encoding
	for i := range noise {
		noise[i] = byte(128 + i*i*7%128)
	}
	russian := "\xcf\xf0\xe8\xe2\xe5\xf2 \xec\xe8\xf0"
	dir := t.TempDir()
	os.WriteFile(filepath.Join(dir, "a.html"), []byte("<html><head><meta charset=\"windows-1251\"></head><p>"+russian), 0o666)
	os.WriteFile(filepath.Join(dir, "b.html"), []byte("<html><head><meta charset=\"utf-8\"></head><p>café "), 0o666)
	os.WriteFile(filepath.Join(dir, "c.txt"), noise, 0o666)
	status, _, errs := inDirectory(t, dir, "dedup", "-q", "--out", "o.jsonl", "a.html", "b.html")
	if got := read(t, "o.jsonl"); status != 0 || !strings.Contains(got, "Привет мир") || !strings.Contains(got, "café") {
		t.Errorf("%s: %s", got, errs)
	}
	if _, _, errs := inDirectory(t, dir, "dedup", "c.txt"); !strings.Contains(errs, "c.txt:1: it is not UTF-8, and its encoding cannot be detected; set --encoding") {
		t.Errorf("it says %s", errs)
	}
}
