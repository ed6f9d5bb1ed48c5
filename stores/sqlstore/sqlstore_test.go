package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/neardup/neardup/blockstore"
	"github.com/neardup/neardup/blockstore/storetest"
	"github.com/neardup/neardup/internal/server"
)

func open(t testing.TB, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func suite(db *sql.DB, dialect Dialect, layout Layout) storetest.Suite {
	return storetest.Suite{
		Size:   2000,
		Blocks: []blockstore.Blocks{storetest.MustBlocks(3, 5), storetest.MustBlocks(3, 6), storetest.MustBlocks(3, 7), storetest.MustBlocks(0, 0)},
		Open: func(ctx context.Context, name string, b blockstore.Blocks) (blockstore.Store, error) {
			s, err := New(ctx, db, dialect, b.Distance(), Options{Blocks: b.Blocks(), Table: strings.ToLower("t" + string(layout) + name), Layout: layout})
			if err != nil {
				return nil, err
			}
			return s, nil
		},
	}
}

func testServer(t *testing.T, name, driver string, dialect Dialect, dsn func(addr string) string) {
	s := server.ForTest(t, name)
	db := open(t, driver, dsn("127.0.0.1:"+s.Port))
	proxy := server.ProxyForTest(t, s.Port)
	throughProxy := open(t, driver, dsn(proxy.Addr))
	for _, layout := range []Layout{Rows, BlockRows} {
		t.Run("layout="+string(layout), func(t *testing.T) {
			storetest.Test(t, suite(db, dialect, layout))
			storetest.TestOutage(t, suite(db, dialect, layout), func() error {
				if err := s.Kill(); err != nil {
					return err
				}
				time.Sleep(100 * time.Millisecond)
				return s.Restart()
			})
			storetest.TestLostAnswers(t, suite(throughProxy, dialect, layout), proxy.LoseAnswer)
		})
	}
}

func TestMariaDB(t *testing.T) {
	testServer(t, "mariadb", "mysql", MySQL, func(addr string) string { return "root@tcp(" + addr + ")/neardup" })
}

func TestPostgreSQL(t *testing.T) {
	testServer(t, "postgres", "pgx", PostgreSQL, func(addr string) string {
		return "postgres://postgres@" + addr + "/postgres?sslmode=disable"
	})
}

func TestSQLite(t *testing.T) {
	db := open(t, "sqlite", "file:"+filepath.Join(t.TempDir(), "store.db")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)&_pragma=busy_timeout(10000)&_txlock=immediate")
	for _, layout := range []Layout{Rows, BlockRows} {
		t.Run("layout="+string(layout), func(t *testing.T) { storetest.Test(t, suite(db, SQLite, layout)) })
	}
}

// TestLayoutOfLi looks at the rows of the layout BlockRows: those of the table in Li 2015 §2.3 for MySQL. A and B differ in the third block only.
func TestLayoutOfLi(t *testing.T) {
	db := open(t, "sqlite", "file:"+filepath.Join(t.TempDir(), "store.db"))
	s, err := New(t.Context(), db, SQLite, 3, Options{Table: "li", Layout: BlockRows})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), []blockstore.Entry{{ID: "A", Fingerprint: 0x800d8e90e45cc488}, {ID: "B", Fingerprint: 0x800d8e90e4dcc488}}); err != nil {
		t.Fatal(err)
	}
	rows, err := db.QueryContext(t.Context(), "SELECT textname, class, block_name, hashcode FROM li ORDER BY textname, class")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var got []string
	for rows.Next() {
		var name, block string
		var class int
		var hashcode int64
		if err := rows.Scan(&name, &class, &block, &hashcode); err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s %d %s %016x", name, class, block, uint64(hashcode)))
	}
	want := []string{
		"A 1 1:800d 800d8e90e45cc488", "A 2 2:8e90 800d8e90e45cc488", "A 3 3:e45c 800d8e90e45cc488", "A 4 4:c488 800d8e90e45cc488",
		"B 1 1:800d 800d8e90e4dcc488", "B 2 2:8e90 800d8e90e4dcc488", "B 3 3:e4dc 800d8e90e4dcc488", "B 4 4:c488 800d8e90e4dcc488",
	}
	if err := rows.Err(); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v: the rows are\n%s\nnot\n%s", err, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
