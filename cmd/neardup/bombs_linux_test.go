package main

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// This file has bombs: small files that become large ones, or say that they do. The program reads each within --memory, or refuses it.

var isFull = flag.Bool("full", false, "run every test at its full size")

const (
	bombMemory = 300 << 20 // what the program is given
	bombBytes  = 600 << 20 // what a bomb becomes
	bombPeak   = "NEARDUP_BOMB"
)

// TestBombs runs the program with each bomb, and compares the most memory that it had with what it was given, and a tenth more.
func TestBombs(t *testing.T) {
	if args := os.Getenv(bombPeak); args != "" { // a process of little memory, whose own would count otherwise
		cmd := exec.Command(strings.Split(args, "\n")[0], strings.Split(args, "\n")[1:]...)
		cmd.Stderr = os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		cmd.Run()
		fmt.Printf("%d %d\n", cmd.ProcessState.ExitCode(), cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
		os.Exit(0)
	}
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "neardup")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	all := bombs()
	for n, name := range slices.Sorted(maps.Keys(all)) {
		if !*isFull && n%12 != 0 {
			continue
		}
		t.Run(name, func(t *testing.T) { explode(t, program, filepath.Join(dir, name), all[name]) })
	}
}

// explode runs the program with a bomb.
func explode(t *testing.T, program, path string, write func(io.Writer) error) {
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(path)
	if err := errors.Join(write(f), f.Close()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestBombs$")
	cmd.Env = append(os.Environ(), bombPeak+"="+strings.Join([]string{program, "dedup", "-q", "--memory", fmt.Sprint(bombMemory), "--text", "text", "--groups", path + ".tsv", path}, "\n"))
	var said strings.Builder
	cmd.Stderr = &said
	start := time.Now()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v after %v", err, time.Since(start))
	}
	status, used := 0, 0
	if _, err := fmt.Sscan(string(out), &status, &used); err != nil {
		t.Fatal(err)
	}
	used <<= 10
	t.Logf("%d MB, %.1f s, status %d, %.100q", used>>20, time.Since(start).Seconds(), status, strings.ReplaceAll(said.String(), path, filepath.Base(path)))
	if status < 0 || status > 1 || used > bombMemory/10*11 || strings.Contains(said.String(), "goroutine ") {
		t.Errorf("status %d, %d MB, %.500s", status, used>>20, said.String())
	}
}

// bombs are functions that write one, by the name of its file.
func bombs() map[string]func(io.Writer) error {
	all := map[string]func(io.Writer) error{}
	for format, text := range map[string]struct{ before, again, behind string }{
		"txt":    {"", "a", ""},
		"md":     {"", " ", ""},
		"html":   {"", "<div>", ""},
		"htm":    {"<p>", "&amp;", ""},
		"jsonl":  {`{"id":"1","text":"`, "a", `"}`},
		"ndjson": {"", "[", ""},
		"json":   {`[{"id":"1","text":"`, "a", `"}]`},
		"csv":    {"id,text\n1,\"", "a\n", "\"\n"},
		"tsv":    {"id\ttext\n1\t", "a", "\n"},
		"warc":   {"WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Target-URI: x:\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\n", "a\n", ""},
		"wet":    {fmt.Sprintf("WARC/1.0\r\nWARC-Type: conversion\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n", 1<<60), "a", ""},
		"arc":    {arcBegin, "a", ""},
	} {
		body := func(w io.Writer) error { return repeated(w, text.before, text.again, text.behind) }
		for end, pack := range packings {
			all["one."+format+end] = func(w io.Writer) error { return pack(w, body) }
		}
	}
	for name, text := range map[string]struct{ before, again, behind string }{
		"blanks.json":     {"", " ", ""},
		"lists.json":      {"", "[", ""},
		"fields.jsonl":    {`{"id":"1","text":"a"`, `,"a":{}`, "}"},
		"escapes.json":    {`["`, `\u0061`, `"]`},
		"numbers.json":    {`[`, `0,`, `0]`},
		"names.csv":       {"text", ",", "\n"},
		"cells.csv":       {"id,text\n1,a", ",", "\n"},
		"quotes.csv":      {"id,text\n1,", `""`, "\n"},
		"comments.html":   {"<!--", "-", ""},
		"attributes.html": {"<p ", "a=b ", ">"},
		"headers.warc":    {"WARC/1.0\r\n", "a: b\r\n", ""},
		"records.warc":    {"", "WARC/1.0\r\nContent-Length: 99999999\r\n\r\n", ""},
		"newlines.warc":   {"WARC/1.0\r\nContent-Length: 3\r\n\r\n", "\r\n", ""},
	} {
		all[name+".gz"] = func(w io.Writer) error {
			return packings[".gz"](w, func(w io.Writer) error { return repeated(w, text.before, text.again, text.behind) })
		}
	}
	for name, encode := range map[string]func(io.Writer) io.WriteCloser{
		"gzip": func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
		"br":   func(w io.Writer) io.WriteCloser { return brotli.NewWriterLevel(w, 1) },
		"zstd": func(w io.Writer) io.WriteCloser { z, _ := zstd.NewWriter(w); return z },
	} {
		all["content-"+name+".warc"] = func(w io.Writer) error {
			var b bytes.Buffer
			fmt.Fprintf(&b, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: %s\r\n\r\n", name)
			z := encode(&b)
			if err := repeated(z, "", "a ", ""); err != nil {
				return err
			}
			z.Close()
			_, err := fmt.Fprintf(w, "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: x:\r\nContent-Type: application/http\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n", b.Len(), b.Bytes())
			return err
		}
	}
	for _, codec := range []compress.Compression{compress.Codecs.Gzip, compress.Codecs.Brotli, compress.Codecs.Zstd, compress.Codecs.Lz4Raw, compress.Codecs.Snappy} {
		for version, of := range map[string]parquet.DataPageVersion{"1": parquet.DataPageV1, "2": parquet.DataPageV2} {
			options := []parquet.WriterProperty{parquet.WithCompression(codec), parquet.WithDataPageVersion(of), parquet.WithStats(false), parquet.WithDataPageSize(1 << 31), parquet.WithDictionaryPageSizeLimit(1 << 31)}
			plain := append(slices.Clone(options), parquet.WithDictionaryDefault(false))
			name := strings.ToLower(codec.String()) + version + ".parquet"
			all["value-"+name] = func(w io.Writer) error {
				return parquetBomb(w, 1, func(int) parquet.ByteArray { return make([]byte, bombBytes) }, plain...)
			}
			all["dictionary-"+name] = func(w io.Writer) error {
				return parquetBomb(w, 1, func(int) parquet.ByteArray { return make([]byte, bombBytes) }, options...)
			}
			all["page-"+name] = func(w io.Writer) error {
				same := make([]byte, 1<<20)
				return parquetBomb(w, bombBytes>>20, func(int) parquet.ByteArray { return same }, plain...)
			}
		}
	}
	all["prefixes.parquet"] = func(w io.Writer) error {
		same := make([]byte, 1<<20)
		return parquetBomb(w, 2000, func(int) parquet.ByteArray { return same }, parquet.WithDictionaryDefault(false), parquet.WithEncoding(parquet.Encodings.DeltaByteArray), parquet.WithStats(false))
	}
	all["empty.parquet"] = func(w io.Writer) error {
		return parquetBomb(w, 500_000, func(int) parquet.ByteArray { return nil }, parquet.WithDictionaryDefault(false), parquet.WithCompression(compress.Codecs.Zstd), parquet.WithDataPageSize(1<<30))
	}
	for name, option := range map[string]ipc.Option{"zstd": ipc.WithZstd(), "lz4": ipc.WithLZ4()} {
		all["value-"+name+".arrow"] = func(w io.Writer) error { return arrowBomb(w, option, 0) }
		all["claim-"+name+".arrow"] = func(w io.Writer) error { return arrowBomb(w, option, 1<<40) }
	}
	for _, part := range []string{"xl/worksheets/sheet1.xml", "xl/sharedStrings.xml", "xl/styles.xml", "xl/workbook.xml", "[Content_Types].xml"} {
		for name, again := range map[string]string{"blanks": " ", "nested": "<a>"} {
			all[name+"-"+filepath.Base(part)+".xlsx"] = func(w io.Writer) error { return bookBomb(w, part, again) }
		}
	}
	return all
}

const arcBegin = "filedesc://x.arc 0.0.0.0 20060101000000 text/plain 76\n1 0 Test\nURL IP-address Archive-date Content-type Archive-length\n\nhttp://e.test/a 1.2.3.4 20060102030405 text/plain 999999999\n"

// repeated writes a text of about [bombBytes].
func repeated(w io.Writer, before, again, behind string) error {
	if _, err := io.WriteString(w, before); err != nil {
		return err
	}
	block := []byte(strings.Repeat(again, 1<<20/len(again)))
	for range bombBytes >> 20 {
		if _, err := w.Write(block); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, behind)
	return err
}

// packings compress what a function writes.
var packings = map[string]func(io.Writer, func(io.Writer) error) error{
	".gz": func(w io.Writer, body func(io.Writer) error) error {
		z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
		return closed(z, body(z))
	},
	".zst": func(w io.Writer, body func(io.Writer) error) error {
		z, err := zstd.NewWriter(w, zstd.WithWindowSize(256<<20))
		if err != nil {
			return err
		}
		return closed(z, body(z))
	},
	".xz": func(w io.Writer, body func(io.Writer) error) error { // what it claims is larger than what it has
		z, err := xz.WriterConfig{DictCap: 1 << 30}.NewWriter(w)
		if err != nil {
			return err
		}
		_, err = io.WriteString(z, "text\na\n")
		return closed(z, err)
	},
}

func closed(c io.Closer, err error) error {
	if wrong := c.Close(); err == nil {
		err = wrong
	}
	return err
}

// parquetBomb writes n values of a column.
func parquetBomb(w io.Writer, n int, value func(i int) parquet.ByteArray, options ...parquet.WriterProperty) error {
	column, err := schema.NewPrimitiveNodeLogical("text", parquet.Repetitions.Required, schema.StringLogicalType{}, parquet.Types.ByteArray, -1, -1)
	if err != nil {
		return err
	}
	root, err := schema.NewGroupNode("r", parquet.Repetitions.Required, schema.FieldList{column}, -1)
	if err != nil {
		return err
	}
	out := file.NewParquetWriter(struct{ io.Writer }{w}, root, file.WithWriterProps(parquet.NewWriterProperties(options...)))
	group, err := out.AppendRowGroupChecked()
	if err != nil {
		return err
	}
	chunk, err := group.NextColumn()
	if err != nil {
		return err
	}
	values := make([]parquet.ByteArray, n)
	for i := range values {
		values[i] = value(i)
	}
	if _, err := chunk.(*file.ByteArrayColumnChunkWriter).WriteBatch(values, nil, nil); err != nil {
		return err
	}
	if err := chunk.Close(); err != nil {
		return err
	}
	if err := group.Close(); err != nil {
		return err
	}
	return out.Close()
}

// arrowBomb writes a text of [bombBytes], or a short one whose buffer claims to have so many.
func arrowBomb(w io.Writer, codec ipc.Option, claim uint64) error {
	columns := arrow.NewSchema([]arrow.Field{{Name: "text", Type: arrow.BinaryTypes.LargeString}}, nil)
	build := array.NewRecordBuilder(memory.DefaultAllocator, columns)
	text := strings.Repeat("a", 1<<16)
	if claim == 0 {
		text = strings.Repeat("a", bombBytes)
	}
	build.Field(0).(*array.LargeStringBuilder).Append(text)
	var b bytes.Buffer
	out := ipc.NewWriter(&b, ipc.WithSchema(columns), codec)
	if err := out.Write(build.NewRecordBatch()); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	all := b.Bytes()
	if claim > 0 {
		all = bytes.Replace(all, binary.LittleEndian.AppendUint64(nil, 1<<16), binary.LittleEndian.AppendUint64(nil, claim), -1)
	}
	_, err := w.Write(all)
	return err
}

// bookBomb writes a workbook, one part of which is large.
func bookBomb(w io.Writer, part, again string) error {
	z := zip.NewWriter(w)
	const main = `xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"`
	const head = `<?xml version="1.0" encoding="UTF-8"?>`
	const types = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
	for _, p := range []struct{ name, begin, end string }{
		{"[Content_Types].xml", head + `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>`, `</Types>`},
		{"_rels/.rels", head + `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="` + types + `/officeDocument" Target="xl/workbook.xml"/>`, `</Relationships>`},
		{"xl/_rels/workbook.xml.rels", head + `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="` + types + `/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="r2" Type="` + types + `/sharedStrings" Target="sharedStrings.xml"/><Relationship Id="r3" Type="` + types + `/styles" Target="styles.xml"/>`, `</Relationships>`},
		{"xl/workbook.xml", head + `<workbook ` + main + ` xmlns:r="` + types + `"><sheets><sheet name="a" sheetId="1" r:id="r1"/></sheets>`, `</workbook>`},
		{"xl/styles.xml", head + `<styleSheet ` + main + `>`, `</styleSheet>`},
		{"xl/sharedStrings.xml", head + `<sst ` + main + `><si><t>text</t></si>`, `</sst>`},
		{"xl/worksheets/sheet1.xml", head + `<worksheet ` + main + `><sheetData><row><c t="s"><v>0</v></c></row><row><c t="inlineStr"><is><t>a b</t></is></c></row>`, `</sheetData></worksheet>`},
	} {
		f, err := z.Create(p.name)
		if err != nil {
			return err
		}
		if p.name == part {
			err = repeated(f, p.begin, again, p.end)
		} else {
			_, err = io.WriteString(f, p.begin+p.end)
		}
		if err != nil {
			return err
		}
	}
	return z.Close()
}
