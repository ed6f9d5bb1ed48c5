package neardupsql

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/neardup/neardup"
	"github.com/neardup/neardup/internal/collections"
	"github.com/neardup/neardup/internal/server"
)

// The tests run joins in DuckDB and in PostgreSQL, and compare their tables with what the library finds in memory.

// engines returns the databases that are there.
func engines(t *testing.T) map[Dialect]*sql.DB {
	duck, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { duck.Close() })
	s := server.ForTest(t, "postgres")
	post, err := sql.Open("pgx", "postgres://postgres@127.0.0.1:"+s.Port+"/postgres?sslmode=disable&default_query_exec_mode=exec")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { post.Close() })
	return map[Dialect]*sql.DB{DuckDB: duck, PostgreSQL: post}
}

// load makes the table documents.
func load(t testing.TB, d Dialect, db *sql.DB, docs collections.Texts) {
	t.Helper()
	types := map[Dialect][2]string{DuckDB: {"VARCHAR", "INTEGER[]"}, PostgreSQL: {"text", "integer[]"}}[d]
	exec(t, db, "DROP VIEW IF EXISTS x_document_pairs")
	for _, name := range []string{"documents", "x_contents", "x_pairs", "x_groups"} {
		exec(t, db, "DROP TABLE IF EXISTS "+name)
	}
	collate := ""
	if d == PostgreSQL {
		collate = ` COLLATE "C"`
	}
	exec(t, db, fmt.Sprintf("CREATE TABLE documents (id %s%s, fingerprint BIGINT, wide BIGINT, wide_high BIGINT, signature %s)", types[0], collate, types[1]))
	var f neardup.Fingerprinter
	for rows := range slices.Chunk(slices.Sorted(maps.Keys(docs)), 200) {
		var values []string
		for _, id := range rows {
			text := docs[id]
			fp, wide, sig := f.Sum64(neardup.Text(text)), f.Sum128(neardup.Text(text)), f.Sign(neardup.Text(text), neardup.MinHash{})
			fields := "NULL, NULL, NULL, NULL"
			if fp != 0 {
				var list []string
				for _, v := range sig {
					list = append(list, fmt.Sprint(int32(v)))
				}
				fields = fmt.Sprintf("%s, %s, %s, ARRAY[%s]", d.integer(int64(fp)), d.integer(int64(wide.Lo)), d.integer(int64(wide.Hi)), strings.Join(list, ","))
			}
			if fp == 0 && strings.HasPrefix(id, "nothing") {
				fields = "NULL, NULL, NULL, ARRAY[]::INTEGER[]" // as where a list cannot be NULL
			}
			values = append(values, fmt.Sprintf("('%s', %s)", strings.ReplaceAll(id, "'", "''"), fields))
		}
		exec(t, db, "INSERT INTO documents VALUES "+strings.Join(values, ", "))
	}
}

func exec(t testing.TB, db *sql.DB, query string) {
	t.Helper()
	if _, err := db.Exec(query); err != nil {
		t.Fatalf("%v\n%.2000s", err, query)
	}
}

// rows returns the rows of a query as sorted lines.
func rows(t testing.TB, db *sql.DB, query string) (lines []string) {
	t.Helper()
	r, err := db.Query(query)
	if err != nil {
		t.Fatalf("%v\n%s", err, query)
	}
	defer r.Close()
	columns, _ := r.Columns()
	values := make([]any, len(columns))
	for i := range values {
		values[i] = new(any)
	}
	for r.Next() {
		if err := r.Scan(values...); err != nil {
			t.Fatal(err)
		}
		var fields []string
		for _, v := range values {
			fields = append(fields, fmt.Sprint(*v.(*any)))
		}
		lines = append(lines, strings.Join(fields, "\t"))
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	slices.Sort(lines)
	return lines
}

// inMemory returns the pairs and the groups of the library, as rows would have them.
func inMemory(t testing.TB, docs collections.Texts, j Join) (pairs, groups []string) {
	t.Helper()
	ctx := context.Background()
	var ids []string
	var f neardup.Fingerprinter
	for _, id := range slices.Sorted(maps.Keys(docs)) {
		if f.Sum64(neardup.Text(docs[id])) != 0 {
			ids = append(ids, id)
		}
	}
	distance := max(j.Distance, 3)
	if j.Distance > 0 {
		distance = j.Distance
	}
	root := make([]int, len(ids))
	var err error
	switch {
	case j.Signature != "":
		ix, err := neardup.NewSignatureIndex[int](max(j.Similarity, 0), neardup.SignatureIndexOptions{Banding: j.Banding})
		if err != nil {
			t.Fatal(err)
		}
		for i, id := range ids {
			root[i] = i
			ix.Add(i, f.Sign(neardup.Text(docs[id]), neardup.MinHash{}))
		}
		for p, err := range ix.Pairs(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			pairs = append(pairs, fmt.Sprintf("%s\t%s\t%v", ids[min(p.A, p.B)], ids[max(p.A, p.B)], p.Similarity))
		}
		all, err := ix.Groups(ctx, neardup.SingleLinkage)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range all {
			for _, i := range g.Members {
				root[i] = slices.Min(g.Members)
			}
		}
	case j.Bits == 128:
		var fps []neardup.Fingerprint128
		for _, id := range ids {
			fps = append(fps, f.Sum128(neardup.Text(docs[id])))
		}
		for p, err := range neardup.Pairs(ctx, fps, distance) {
			if err != nil {
				t.Fatal(err)
			}
			pairs = append(pairs, fmt.Sprintf("%s\t%s\t%d", ids[p.A], ids[p.B], p.Distance))
		}
		root, err = neardup.Components(ctx, fps, distance)
	default:
		var fps []neardup.Fingerprint64
		for _, id := range ids {
			fps = append(fps, f.Sum64(neardup.Text(docs[id])))
		}
		for p, err := range neardup.Pairs(ctx, fps, distance) {
			if err != nil {
				t.Fatal(err)
			}
			pairs = append(pairs, fmt.Sprintf("%s\t%s\t%d", ids[p.A], ids[p.B], p.Distance))
		}
		root, err = neardup.Components(ctx, fps, distance)
	}
	if err != nil {
		t.Fatal(err)
	}
	size := map[int]int{}
	for _, r := range root {
		size[r]++
	}
	for i, r := range root {
		if size[r] > 1 {
			groups = append(groups, ids[i]+"\t"+ids[r])
		}
	}
	slices.Sort(pairs)
	slices.Sort(groups)
	return pairs, groups
}

// cases are the joins that are tried.
func cases() map[string]Join {
	return map[string]Join{
		"fingerprints":   {Blocks: 4},
		"blocks":         {Blocks: 5, Distance: 4},
		"fingerprint128": {Bits: 128, Fingerprint: "wide", High: "wide_high", Blocks: 7, Distance: 5},
		"signatures":     {Signature: "signature", Similarity: 0.6},
		"bands":          {Signature: "signature", Similarity: 0.4, Banding: neardup.Banding{Bands: 25, Rows: 5}},
	}
}

func conform(t *testing.T, d Dialect, db *sql.DB, docs collections.Texts, cases map[string]Join) {
	load(t, d, db, docs)
	for with, j := range cases {
		t.Run(with, func(t *testing.T) {
			wantPairs, wantGroups := inMemory(t, docs, j)
			j.Dialect, j.Table, j.Prefix = d, "documents", "x"
			result, err := j.Run(t.Context(), db)
			if err != nil {
				t.Fatal(err)
			}
			pairs, groups := rows(t, db, "SELECT * FROM x_document_pairs"), rows(t, db, "SELECT * FROM x_groups")
			same(t, "pairs", pairs, wantPairs)
			same(t, "groups", groups, wantGroups)
			if int(result.Grouped) != len(wantGroups) {
				t.Errorf("%d documents in groups, not %d", result.Grouped, len(wantGroups))
			}
			t.Logf("%d documents, %d contents, %d pairs, %d in groups, %d rounds", len(docs), result.Contents, len(pairs), len(groups), result.Rounds)
			exec(t, db, "DROP VIEW x_document_pairs")
			for _, name := range []string{"contents", "pairs", "groups"} {
				exec(t, db, "DROP TABLE x_"+name)
			}
			if d == DuckDB {
				if left := rows(t, db, "SELECT table_name FROM information_schema.tables WHERE table_name <> 'documents'"); left != nil {
					t.Errorf("left behind: %v", left)
				}
			}
		})
	}
}

// same compares sorted lines.
func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if slices.Equal(got, want) {
		return
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("%s: %d, not %d; the first difference is\n%q, not\n%q", what, len(got), len(want), got[min(i, len(got)):min(i+1, len(got))], want[min(i, len(want)):min(i+1, len(want))])
		}
	}
}

func TestConformance(t *testing.T) {
	for d, db := range engines(t) {
		for name, docs := range collections.Shapes() {
			t.Run(string(d)+"/"+name, func(t *testing.T) { conform(t, d, db, docs, cases()) })
		}
	}
}

// The same on real texts.
func TestData(t *testing.T) {
	dir := os.Getenv("NEARDUP_DATA")
	if dir == "" {
		t.Skip("NEARDUP_DATA is not set")
	}
	all, err := collections.Data(dir)
	if err != nil {
		t.Fatal(err)
	}
	some := cases()
	delete(some, "bands") // it differs from signatures in a number only
	delete(some, "blocks")
	for d, db := range engines(t) {
		for name, docs := range all {
			if testing.Short() && name != "zh-manuals" {
				continue
			}
			t.Run(string(d)+"/"+name, func(t *testing.T) { conform(t, d, db, docs, some) })
		}
	}
}

// statements yields the statements of a script, without comments.
func statements(script string) iter.Seq[string] {
	var b strings.Builder
	for line := range strings.Lines(script) {
		if !strings.HasPrefix(line, "--") {
			b.WriteString(line)
		}
	}
	return strings.SplitSeq(strings.TrimSuffix(b.String(), ";\n"), ";\n")
}

// The script is what Run runs.
func TestScript(t *testing.T) {
	docs := collections.Shapes()["mixed"]
	for d, db := range engines(t) {
		for with, j := range cases() {
			load(t, d, db, docs)
			_, want := inMemory(t, docs, j)
			j.Dialect, j.Table, j.Prefix, j.Rounds = d, "documents", "x", 4
			var b bytes.Buffer
			if err := j.Script(&b); err != nil {
				t.Fatal(err)
			}
			conn, err := db.Conn(t.Context()) // a transaction is of one connection
			if err != nil {
				t.Fatal(err)
			}
			for statement := range statements(b.String()) {
				if strings.Contains(statement, "AS unfinished") {
					left := -1
					if err := conn.QueryRowContext(t.Context(), statement).Scan(&left); err != nil || left != 0 {
						t.Errorf("%s %s: %d edges are not of stars: %v", d, with, left, err)
					}
				} else if _, err := conn.ExecContext(t.Context(), statement); err != nil {
					t.Fatalf("%v\n%s", err, statement)
				}
			}
			conn.Close()
			same(t, string(d)+" "+with, rows(t, db, "SELECT * FROM x_groups"), want)
		}
	}
}

// The scripts of all dialects are in testdata, to be read, and to see what a change does to them.
func TestGoldenScripts(t *testing.T) {
	for _, d := range Dialects {
		scripts := map[string]func(w io.Writer) error{"links": Links{Dialect: d, Table: "documents"}.Script}
		for name, j := range map[string]Join{"fingerprints": {Blocks: 4}, "fingerprints128": {Bits: 128, Blocks: 4}, "signatures": {Signature: "signature"}} {
			j.Dialect, j.Table, j.Rounds = d, "documents", 2
			scripts[name] = j.Script
		}
		for name, script := range scripts {
			var b bytes.Buffer
			if err := script(&b); err != nil {
				t.Fatal(err)
			}
			path := fmt.Sprintf("testdata/%s-%s.sql", d, name)
			if os.Getenv("NEARDUP_UPDATE") != "" {
				if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(b.Bytes(), want) {
				t.Errorf("%s differs; NEARDUP_UPDATE=1 writes it again", path)
			}
		}
	}
}

// A join that fails leaves nothing behind, and nothing of the user's is replaced.
func TestFailure(t *testing.T) {
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	load(t, DuckDB, db, collections.Shapes()["mixed"])
	exec(t, db, "CREATE TABLE x_groups (mine INTEGER)")
	exec(t, db, "INSERT INTO x_groups VALUES (7)")
	_, err = Join{Dialect: DuckDB, Table: "documents", Prefix: "x"}.Run(t.Context(), db)
	if err == nil || !strings.Contains(err.Error(), "x_groups") {
		t.Errorf("error %v", err)
	}
	if got := rows(t, db, "SELECT * FROM x_groups"); !slices.Equal(got, []string{"7"}) {
		t.Errorf("the table of the user has %v", got)
	}
	if left := rows(t, db, "SELECT table_name FROM information_schema.tables ORDER BY 1"); !slices.Equal(left, []string{"documents", "x_groups"}) {
		t.Errorf("left behind: %v", left)
	}
	for _, j := range []Join{{}, {Dialect: "mysql", Table: "t"}, {Dialect: DuckDB}, {Dialect: DuckDB, Table: "a\nb"}, {Dialect: DuckDB, Table: "a\rb"}, {Dialect: DuckDB, Table: "t", Blocks: 3},
		{Dialect: DuckDB, Table: "t", Distance: -1}, {Dialect: DuckDB, Table: "t", Bits: 32}, {Dialect: DuckDB, Table: "t", Signature: "s", Similarity: 2},
		{Dialect: DuckDB, Table: "t", Signature: "s", Values: 8}, {Dialect: DuckDB, Table: "t", Signature: "s", Banding: neardup.Banding{Bands: 100, Rows: 2}}, {Dialect: DuckDB, Table: "t", Rounds: -1}, {Dialect: PostgreSQL, Table: "t", Prefix: strings.Repeat("p", 50)}} {
		if err := j.Script(new(bytes.Buffer)); err == nil || !strings.HasPrefix(err.Error(), "neardupsql: ") {
			t.Errorf("%+v: error %v", j, err)
		}
	}
}

// Ids that are NULL or stand in several rows end Run and the script with an error that tells them, and nothing is made. Names may have points.
func TestIDs(t *testing.T) {
	for d, db := range engines(t) {
		exec(t, db, `DROP SCHEMA IF EXISTS "of.mine" CASCADE`)
		exec(t, db, `CREATE SCHEMA "of.mine"`)
		for name, rows := range map[string]struct{ values, want string }{
			"repeated": {`('x', 1), ('x', -1), ('y', 7), ('z', 1)`, "rows: x"},
			"null":     {`('x', 1), (NULL, -1), ('z', 1)`, "rows: NULL"},
			"both":     {`('x', 1), (NULL, -1), (NULL, 3), ('x', 1), ('x', 4)`, "rows: NULL, x"},
			"good":     {`('x', 1), ('y', -1), ('z', 1)`, ""},
		} {
			exec(t, db, `CREATE TABLE "of.mine".doc (id text, "finger.print" BIGINT)`)
			exec(t, db, `INSERT INTO "of.mine".doc VALUES `+rows.values)
			j := Join{Dialect: d, Table: `"of.mine".doc`, Fingerprint: `"finger.print"`, Prefix: `"of.mine".x`, Rounds: 2}
			is := func(how string, err error) {
				if (err == nil) != (rows.want == "") || err != nil && !strings.Contains(err.Error(), rows.want) {
					t.Errorf("%s, %s, %s: error %v", d, name, how, err)
				}
			}
			_, err := j.Run(t.Context(), db)
			is("Run", err)
			var b bytes.Buffer
			j.Prefix = `"of.mine".y`
			if err := j.Script(&b); err != nil {
				t.Fatal(err)
			}
			conn, err := db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for statement := range statements(b.String()) {
				if _, err = conn.ExecContext(t.Context(), statement); err != nil {
					conn.ExecContext(t.Context(), "ROLLBACK")
					break
				}
			}
			conn.Close()
			is("script", err)
			var tables int
			made := map[bool]int{true: 8}[rows.want == ""]
			if err := db.QueryRow("SELECT count(*) FROM information_schema.tables WHERE table_schema = 'of.mine' AND table_name <> 'doc'").Scan(&tables); err != nil || tables != made {
				t.Errorf("%s, %s: %d tables, %v", d, name, tables, err)
			}
			if rows.want == "" {
				var id, keep string
				if err := db.QueryRow(`SELECT max(id), max(keep) FROM "of.mine".x_groups`).Scan(&id, &keep); err != nil || id != "z" || keep != "x" {
					t.Errorf("%s: the group of %s has %s, %v", d, keep, id, err)
				}
			}
			exec(t, db, `DROP SCHEMA "of.mine" CASCADE`)
			exec(t, db, `CREATE SCHEMA "of.mine"`)
		}
		if err := (Join{Dialect: d, Table: `a"b`}).Script(new(bytes.Buffer)); err == nil {
			t.Errorf("%s: a quote that is not closed is no error", d)
		}
	}
}

// A chain of a thousand fingerprints, each within 3 bits of the next one only, is one group, whatever the order of ids.
func TestChain(t *testing.T) {
	const n = 1000
	for d, db := range engines(t) {
		for _, order := range []int{1, 7919} {
			load(t, d, db, nil)
			r := rand.New(rand.NewPCG(4, 4))
			fp := neardup.Fingerprint64(r.Uint64())
			fps := make([]neardup.Fingerprint64, n)
			var values []string
			for i := range n {
				next := fp
				for next == fp || slices.ContainsFunc(fps[:max(0, i-1)], func(old neardup.Fingerprint64) bool { return old.Distance(next) <= 3 }) {
					next = fp
					for _, bit := range r.Perm(64)[:3] {
						next ^= 1 << bit
					}
				}
				fp = next
				fps[i] = fp
				values = append(values, fmt.Sprintf("('%04d', %s)", i*order%n, d.integer(int64(fp))))
			}
			pairs := 0
			for _, err := range neardup.Pairs(t.Context(), fps, 3) {
				if err != nil {
					t.Fatal(err)
				}
				pairs++
			}
			if pairs != n-1 {
				t.Fatalf("the chain has %d pairs", pairs)
			}
			exec(t, db, "INSERT INTO documents (id, fingerprint) VALUES "+strings.Join(values, ", "))
			result, err := Join{Dialect: d, Table: "documents", Prefix: "x"}.Run(t.Context(), db)
			if err != nil {
				t.Fatal(err)
			}
			if got := rows(t, db, "SELECT keep, count(*) FROM x_groups GROUP BY keep"); !slices.Equal(got, []string{fmt.Sprintf("0000\t%d", n)}) {
				t.Errorf("%s: groups %v", d, got)
			}
			t.Logf("%s: %d rounds", d, result.Rounds)
		}
	}
}
