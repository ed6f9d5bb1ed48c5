package neardupsql

import (
	"fmt"
	"github.com/neardup/neardup"
	"maps"
	"os"
	command "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/dedup"
	"github.com/neardup/neardup/dedup/shard"
	"github.com/neardup/neardup/internal/collections"
)

// loadLevels makes the table texts with the signatures of package shard.
func loadLevels(t testing.TB, d Dialect, db Runner, docs collections.Texts) {
	t.Helper()
	signer, err := shard.NewSigner(dedup.Options{})
	if err != nil {
		t.Fatal(err)
	}
	exec := func(query string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), query); err != nil {
			t.Fatalf("%v\n%.1000s", err, query)
		}
	}
	types := map[Dialect][2]string{DuckDB: {"VARCHAR", "INTEGER[]"}, PostgreSQL: {`text COLLATE "C"`, "integer[]"}}[d]
	exec("DROP TABLE IF EXISTS texts")
	exec("DROP TABLE IF EXISTS y_linked")
	exec(fmt.Sprintf("CREATE TABLE texts (id %s, long %s, short %s)", types[0], types[1], types[1]))
	list := func(values []int32) string {
		if values == nil {
			return "NULL"
		}
		return "ARRAY" + strings.ReplaceAll(fmt.Sprint(values), " ", ",")
	}
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(docs)), 100) {
		var values []string
		for _, id := range ids {
			sig, err := signer.Sign(neardup.Text(docs[id]))
			if err != nil {
				t.Fatal(err)
			}
			long, short := sig.Values()
			values = append(values, fmt.Sprintf("('%s', %s, %s)", strings.ReplaceAll(id, "'", "''"), list(long), list(short)))
		}
		exec("INSERT INTO texts VALUES " + strings.Join(values, ", "))
	}
}

// answersOf returns what a Deduplicator says of the documents with some ids.
func answersOf(t testing.TB, docs collections.Texts, ids []string) (said []string) {
	t.Helper()
	d, err := dedup.New[string](dedup.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if err := d.Add(id, neardup.Text(docs[id])); err != nil {
			t.Fatal(err)
		}
	}
	for p, err := range d.Pairs(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		said = append(said, fmt.Sprint("pair ", p))
	}
	groups, err := d.Groups(t.Context(), dedup.GroupOptions[string]{})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		said = append(said, fmt.Sprint("group ", g))
	}
	families, err := d.Families(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		said = append(said, fmt.Sprintf("family %+v", f))
	}
	slices.Sort(said)
	return said
}

// TestLinks: what a Deduplicator says of the documents that are linked is what it says of all, in DuckDB and in PostgreSQL, on all collections;
// with -short, on one of them.
func TestLinks(t *testing.T) {
	all := collections.Shapes()
	delete(all, "chain") // of which all are linked
	if dir := os.Getenv("NEARDUP_DATA"); dir != "" {
		data, err := collections.Data(dir)
		if err != nil {
			t.Fatal(err)
		}
		for name, docs := range data {
			if !testing.Short() || name == "zh-manuals" {
				all[name] = docs
			}
		}
	}
	dbs := engines(t)
	for name, docs := range all {
		want := answersOf(t, docs, slices.Sorted(maps.Keys(docs)))
		for d, db := range dbs {
			loadLevels(t, d, db, docs)
			l := Links{Dialect: d, Table: "texts", Prefix: "y"}
			n, err := l.Run(t.Context(), db)
			if err != nil {
				t.Fatal(err)
			}
			linked := rows(t, db, "SELECT id FROM y_linked")
			if int(n) != len(linked) || len(slices.Compact(slices.Clone(linked))) != len(linked) {
				t.Errorf("%s: %d rows, and %d were said", d, len(linked), n)
			}
			if got := answersOf(t, docs, linked); !slices.Equal(got, want) {
				t.Errorf("%s, %s: %d answers of %d linked documents, and %d of all %d", name, d, len(got), len(linked), len(want), len(docs))
			}
			if name == "mixed" && (len(linked) == len(docs) || len(linked) == 0) {
				t.Errorf("%d of %d documents are linked", len(linked), len(docs))
			}
			t.Logf("%s, %s: %d of %d documents are linked; %d answers", name, d, len(linked), len(docs), len(want))
			if _, err := l.Run(t.Context(), db); err == nil {
				t.Error("it replaced a table")
			}
			for _, made := range []string{"y_contents", "y_bands", "y_buckets", "y_near"} {
				if _, err := db.Exec("SELECT 1 FROM " + made); err == nil {
					t.Errorf("%s: %s is left", d, made)
				}
			}
		}
	}
}

// TestLinksProgram: neardup fingerprint, neardup sql and neardup dedup find together what neardup dedup finds alone, as the script says.
func TestLinksProgram(t *testing.T) {
	program, dir := program(t), t.TempDir()
	docs, texts := mixedFile(t, dir)
	run := func(args ...string) string {
		t.Helper()
		out, err := command.Command(program, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v: %s", args, err, out)
		}
		return string(out)
	}
	db := engines(t)[DuckDB]
	file, linked := filepath.Join(dir, "levels.parquet"), filepath.Join(dir, "linked.jsonl")
	run("fingerprint", "-q", "--method", "auto", texts, "--out", file)
	script := run("sql", "duckdb", "--method", "auto", "--table", "levels")
	for line := range strings.Lines(script) {
		if sql, ok := strings.CutPrefix(line, "--   "); ok {
			exec(t, db, strings.ReplaceAll(sql, "FILE.parquet", file))
		}
	}
	exec(t, db, script)
	exec(t, db, fmt.Sprintf("COPY (SELECT t.id, t.text FROM read_json('%s', columns = {id: 'VARCHAR', text: 'VARCHAR'}) AS t JOIN neardup_linked USING (id)) TO '%s' (FORMAT json)", texts, linked))
	pairs := func(from string) string {
		run("dedup", "-q", from, "--pairs", filepath.Join(dir, "pairs.csv"))
		b, err := os.ReadFile(filepath.Join(dir, "pairs.csv"))
		if err != nil {
			t.Fatal(err)
		}
		var rows []string // without the groups, whose names are those of the first documents
		for line := range strings.Lines(string(b)) {
			cells := strings.Split(line, ",")
			rows = append(rows, strings.Join(cells[:len(cells)-2], ","))
		}
		return strings.Join(rows, "\n")
	}
	if got, want := pairs(linked), pairs(texts); got != want || strings.Count(got, "\n") < 100 {
		t.Errorf("the pairs of those that are linked are\n%s\nand not\n%s", got, want)
	}
	// In CSV, for PostgreSQL.
	run("fingerprint", "-q", "--method", "auto", texts, "--out", filepath.Join(dir, "levels.csv"))
	exec(t, db, fmt.Sprintf("CREATE TABLE other AS SELECT * FROM '%s'", filepath.Join(dir, "levels.csv")))
	if got := rows(t, db, "SELECT count(*) FROM other AS o JOIN levels AS l ON o.id = l.id AND o.long IS NOT DISTINCT FROM '{' || array_to_string(l.long, ',') || '}' AND o.short IS NOT DISTINCT FROM '{' || array_to_string(l.short, ',') || '}'"); got[0] != fmt.Sprint(len(docs)) {
		t.Errorf("%s of %d rows are equal", got, len(docs))
	}
}

// TestLinksClickHouse: ClickHouse finds the linked documents that DuckDB finds.
func TestLinksClickHouse(t *testing.T) {
	if os.Getenv("NEARDUP_CHDB") == "" {
		t.Skip("NEARDUP_CHDB is not set")
	}
	docs := collections.Shapes()["mixed"]
	db := engines(t)[DuckDB]
	loadLevels(t, DuckDB, db, docs)
	if _, err := (Links{Dialect: DuckDB, Table: "texts", Prefix: "y"}).Run(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	want := rows(t, db, "SELECT id FROM y_linked")
	path := filepath.Join(t.TempDir(), "texts.parquet")
	exec(t, db, "COPY texts TO '"+path+"' (FORMAT parquet)")
	var script strings.Builder
	if err := (Links{Dialect: ClickHouse, Table: "texts"}).Script(&script); err != nil {
		t.Fatal(err)
	}
	all := append([]string{"CREATE TABLE texts ENGINE = MergeTree ORDER BY tuple() AS SELECT * FROM file('" + path + "')"}, slices.Collect(statements(script.String()))...)
	got, err := chdb(t, append(all, "SELECT id FROM neardup_linked"))
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%d documents are linked, not %d: %v", len(got), len(want), err)
	}
}
