package neardupsql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/duckdb/duckdb-go/v2"
	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup"
	"github.com/neardup/neardup/dedup/shard"
)

// sizes are how many rows there are: with NEARDUP_LARGE up to a number, in steps of ten times.
func sizes(least, most int) (n []int) {
	for n = append(n, least); os.Getenv("NEARDUP_LARGE") != "" && least < most; n = append(n, least) {
		least *= 10
	}
	return n
}

// BenchmarkDuckDB joins in DuckDB, in a file, with all processors:
//
//	NEARDUP_LARGE=1 go test -run '^$' -bench DuckDB -benchtime 1x .
//
// Fingerprints are random; one in ten is within 1 to 3 bits of another. Signatures are of sets of 100 features; one in ten
// shares 80 to 100 of them with another.
func BenchmarkDuckDB(b *testing.B) {
	for _, n := range sizes(100_000, 10_000_000) {
		b.Run(fmt.Sprintf("fingerprints/n=%d", n), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, uint64(n)))
			fps := make([]uint64, 0, n)
			bench(b, n, "id BIGINT, fingerprint BIGINT", Join{Dialect: DuckDB, Table: "documents", Documents: float64(n)}, func(i int) []driver.Value {
				fp := r.Uint64()
				if i%10 == 9 {
					fp = fps[r.IntN(len(fps))]
					for range 1 + r.IntN(3) {
						fp ^= 1 << r.IntN(64)
					}
				}
				fps = append(fps, fp)
				return []driver.Value{int64(i), int64(fp)}
			})
		})
	}
	for _, n := range sizes(10_000, 1_000_000) {
		b.Run(fmt.Sprintf("signatures/n=%d", n), func(b *testing.B) {
			r := rand.New(rand.NewPCG(2, uint64(n)))
			var set []uint64
			bench(b, n, "id BIGINT, signature INTEGER[]", Join{Dialect: DuckDB, Table: "documents", Signature: "signature"}, func(i int) []driver.Value {
				keep := 0
				if i%10 == 9 {
					keep = 80 + r.IntN(21)
				} else {
					set = nil
				}
				next := append([]uint64(nil), set[:min(keep, len(set))]...)
				for len(next) < 100 {
					next = append(next, r.Uint64())
				}
				set = next
				sig := neardup.MinHash{}.Sign(next)
				list := make([]int32, len(sig))
				for k, v := range sig {
					list[k] = int32(v)
				}
				return []driver.Value{int64(i), list}
			})
		})
	}
}

// BenchmarkLinks finds the documents that neardup dedup has to look at, of texts of 100 words of which every tenth is a version of the one before.
func BenchmarkLinks(b *testing.B) {
	signer, err := shard.NewSigner(dedup.Options{})
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range sizes(10_000, 100_000) {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			r := rand.New(rand.NewPCG(3, uint64(n)))
			words := make([]string, 100)
			linked := int64(0)
			benchRun(b, n, "id BIGINT, long INTEGER[], short INTEGER[]", []string{"linked"}, func(db *sql.DB) (err error) {
				linked, err = Links{Dialect: DuckDB, Table: "documents"}.Run(context.Background(), db)
				return err
			}, func(i int) []driver.Value {
				for k := range words {
					if i%10 != 9 || r.IntN(10) == 0 {
						words[k] = fmt.Sprint("w", r.IntN(50_000))
					}
				}
				sig, err := signer.Sign(neardup.Text(strings.Join(words, " ")))
				if err != nil {
					b.Fatal(err)
				}
				long, short := sig.Values()
				row := []driver.Value{int64(i), long, short}
				if short == nil {
					row[2] = nil
				}
				return row
			})
			b.ReportMetric(float64(linked), "linked")
		})
	}
}

// bench fills a table of n rows, and joins it again and again.
func bench(b *testing.B, n int, columns string, j Join, row func(i int) []driver.Value) {
	var result Result
	benchRun(b, n, columns, []string{"contents", "pairs", "groups"}, func(db *sql.DB) (err error) {
		result, err = j.Run(context.Background(), db)
		return err
	}, row)
	b.ReportMetric(float64(result.Pairs), "pairs")
	b.ReportMetric(float64(result.Rounds), "rounds")
}

// benchRun fills a table of n rows, and runs something again and again that makes tables.
func benchRun(b *testing.B, n int, columns string, made []string, run func(db *sql.DB) error, row func(i int) []driver.Value) {
	connector, err := duckdb.NewConnector(filepath.Join(b.TempDir(), "x.db"), nil)
	if err != nil {
		b.Fatal(err)
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	exec(b, db, "CREATE TABLE documents ("+columns+")")
	conn, err := connector.Connect(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	appender, err := duckdb.NewAppenderFromConn(conn, "", "documents")
	if err != nil {
		b.Fatal(err)
	}
	for i := range n {
		if err := appender.AppendRow(row(i)...); err != nil {
			b.Fatal(err)
		}
	}
	if err := appender.Close(); err != nil {
		b.Fatal(err)
	}
	conn.Close()
	exec(b, db, "CHECKPOINT")
	for b.Loop() {
		if err := run(db); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		exec(b, db, "DROP VIEW IF EXISTS neardup_document_pairs")
		for _, name := range made {
			exec(b, db, "DROP TABLE neardup_"+name)
		}
		b.StartTimer()
	}
}
