package main

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"
)

// duckTypes are expressions of DuckDB for columns of all types, by a number i; some are null. As texts they are what the program writes.
var duckTypes = map[string]string{
	"text":      "repeat(md5(i::VARCHAR), (i * 7919 % 97)::INT)",
	"hanzi":     "repeat('中文' || i, (i % 5)::INT)",
	"blank":     "''",
	"nothing":   "NULL::VARCHAR",
	"part":      "CASE WHEN i % 3 = 0 THEN 'x' || i END",
	"few":       "'v' || (i % 4)",
	"flag":      "i % 8 < 3",
	"tiny":      "(i % 256 - 128)::TINYINT",
	"big":       "(i * 1234567890123)::BIGINT",
	"unsigned":  "(4294967295 - (i * 40503 % 4294967295))::UINTEGER",
	"unsigned8": "(18446744073709551615 - i)::UBIGINT",
	"single":    "(i / 7.0)::FLOAT",
	"double":    "i / 7.0::DOUBLE",
	"price":     "(i / 100.0)::DECIMAL(9,2)",
	"wide":      "(i * 1.5)::DECIMAL(30,4)",
	"date":      "DATE '1960-01-01' + (i * 31)::INT",
	"moment":    "TIMESTAMP '1999-12-31 23:59:59.123456' + INTERVAL (i) SECOND",
	"bytes":     "('\\xFF' || i)::BLOB",
	"items":     "CASE WHEN i % 5 > 0 THEN list_transform(range(i % 4), x -> CASE WHEN x = 2 THEN NULL ELSE 'e' || x END) END",
	"record":    "{'a': i, 'b': CASE WHEN i % 2 = 0 THEN 'b' END}",
	"nested":    "[[{'x': i::INT}, NULL], []]",
	"pairs":     "MAP {'k' || i: i, 'l': NULL}",
}

// TestDuckDB: Parquet that DuckDB writes with each codec, version, size of row groups and kind of pages is read as DuckDB reads it, cell by cell.
func TestDuckDB(t *testing.T) {
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	must := func(query string) {
		t.Helper()
		if _, err := db.Exec(query); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	dir := t.TempDir()
	const n = 2200
	columns := []string{"i::VARCHAR AS id"}
	shown := []string{"id"}
	for name, of := range duckTypes {
		columns = append(columns, of+" AS "+name)
		switch name {
		case "bytes":
			shown = append(shown, "base64("+name+") AS "+name)
		case "price", "wide", "date":
			shown = append(shown, name+"::VARCHAR AS "+name)
		case "moment":
			shown = append(shown, "strftime("+name+", '%Y-%m-%dT%H:%M:%S.%f') AS "+name)
		default:
			shown = append(shown, name)
		}
	}
	must(fmt.Sprintf("CREATE TABLE t AS SELECT %s FROM range(%d) r(i)", strings.Join(columns, ", "), n))
	rows, err := db.Query("SELECT to_json(s)::VARCHAR FROM (SELECT " + strings.Join(shown, ", ") + " FROM t) s")
	if err != nil {
		t.Fatal(err)
	}
	var want []map[string]any
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		want = append(want, asMap(t, []byte(text)))
	}
	rows.Close()
	for _, codec := range []string{"uncompressed", "snappy", "gzip", "zstd", "brotli", "lz4_raw"} {
		for _, version := range []string{"V1", "V2"} {
			for _, group := range map[string][]int{"V1": {2048}, "V2": {2048, 100_000}}[version] {
				path := filepath.Join(dir, "x.parquet")
				must(fmt.Sprintf("COPY t TO '%s' (FORMAT parquet, CODEC '%s', PARQUET_VERSION %s, ROW_GROUP_SIZE %d)", path, codec, version, group))
				out := filepath.Join(dir, "o.jsonl")
				if status, _, stderr := inDirectory(t, dir, "dedup", "-q", "--method", "simhash", "--distance", "0", "--annotate", out, path); status != 0 {
					t.Fatalf("%s %s %d: %s", codec, version, group, stderr)
				}
				got, err := os.ReadFile(out)
				if err != nil {
					t.Fatal(err)
				}
				lines := bytes.Split(bytes.TrimSpace(got), []byte("\n"))
				if len(lines) != n {
					t.Fatalf("%s %s %d: %d rows", codec, version, group, len(lines))
				}
				for k, line := range lines {
					row := asMap(t, line)
					for name, value := range want[k] {
						if of, isText := row[name].(string); name == "moment" && isText { // with fewer zeros
							row[name] = (of + ".000000")[:26]
						}
						if !isSame(row[name], value) {
							t.Fatalf("%s %s %d, row %d: %s is %v instead of %v", codec, version, group, k, name, row[name], value)
						}
					}
				}
			}
		}
	}
}

// isSame reports whether two values of JSON are the same, however numbers are written.
func isSame(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		for name := range x {
			ok = ok && isSame(x[name], y[name])
		}
		return ok && len(x) == len(y)
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			ok = ok && isSame(x[i], y[i])
		}
		return ok
	}
	if fmt.Sprint(a) == fmt.Sprint(b) {
		return (a == nil) == (b == nil)
	}
	x, err := strconv.ParseFloat(fmt.Sprint(a), 64)
	y, err2 := strconv.ParseFloat(fmt.Sprint(b), 64)
	isSingle := strings.Contains(fmt.Sprint(a, b), ".") // perhaps of 32 bits
	return err == nil && err2 == nil && (x == y || isSingle && float32(x) == float32(y))
}

// asMap returns an object with the numbers as they are written.
func asMap(t *testing.T, text []byte) (m map[string]any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&m); err != nil {
		t.Fatalf("%v in %.200s", err, text)
	}
	return m
}
