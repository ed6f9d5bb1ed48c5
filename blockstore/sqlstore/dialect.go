package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Dialect is the SQL of a database.
type Dialect int

const (
	// MySQL is also for MariaDB. Open it with github.com/go-sql-driver/mysql:
	//
	//	sql.Open("mysql", "user:password@tcp(host:3306)/database")
	MySQL Dialect = iota + 1

	// PostgreSQL must be version 14 or later, and the database must use UTF-8. Open it with
	// github.com/jackc/pgx/v5/stdlib:
	//
	//	sql.Open("pgx", "postgres://user:password@host/database")
	PostgreSQL

	// SQLite cannot count bits. So it returns everything that has an equal key, and the store
	// computes the distances. If several goroutines use it, it needs the options below. Open it
	// with modernc.org/sqlite:
	//
	//	sql.Open("sqlite", "file:store.db?_pragma=journal_mode(WAL)&_pragma=busy_timeout(10000)&_txlock=immediate")
	SQLite
)

// placeholder returns the placeholder for argument i of a statement, from 1 on.
func (d Dialect) placeholder(i int) string {
	if d == PostgreSQL {
		return fmt.Sprintf("$%d", i)
	}
	return "?"
}

// maxArgs returns how many arguments a statement may have.
func (d Dialect) maxArgs() int {
	if d == SQLite {
		return 30_000
	}
	return 60_000
}

// idType returns a type of column for ids, which compares them byte by byte.
func (d Dialect) idType() string {
	switch d {
	case MySQL:
		return "VARBINARY(1024)"
	case PostgreSQL:
		return `TEXT COLLATE "C"`
	}
	return "TEXT"
}

// textType returns a type of column for long texts.
func (d Dialect) textType() string {
	if d == MySQL {
		return "MEDIUMBLOB"
	}
	return "TEXT"
}

// valueType returns a type of column for the bytes of a signature.
func (d Dialect) valueType() string {
	switch d {
	case MySQL:
		return "MEDIUMBLOB"
	case PostgreSQL:
		return "BYTEA"
	}
	return "BLOB"
}

// bytes returns a string as an argument for a column that compares bytes.
func (d Dialect) bytes(s string) any {
	if d == MySQL {
		return []byte(s)
	}
	return s
}

// distance returns an expression for the Hamming distance of some columns and as many arguments, from
// argument arg on. It must not be called for SQLite, which has none.
func (d Dialect) distance(columns []string, arg int) string {
	parts := make([]string, len(columns))
	for i, c := range columns {
		parts[i] = fmt.Sprintf("BIT_COUNT(%s ^ %s)", c, d.placeholder(arg+i))
		if d == PostgreSQL {
			parts[i] = fmt.Sprintf("bit_count((%s # %s::bigint)::bit(64))", c, d.placeholder(arg+i))
		}
	}
	return strings.Join(parts, " + ")
}

// insertSettings returns a statement that inserts the row with the id 1. It does nothing if the row
// exists.
func (d Dialect) insertSettings(table string) string {
	insert := fmt.Sprintf("INSERT INTO %s (id, settings) VALUES (1, %s)", table, d.placeholder(1))
	if d == MySQL {
		return insert + " ON DUPLICATE KEY UPDATE id = id"
	}
	return insert + " ON CONFLICT DO NOTHING"
}

// An index is an index of a table, by columns. It also holds the columns in more, so that it
// answers a search without the table.
type index struct{ name, columns, more string }

// hasIndex reports whether a table has an index. In MySQL the answer is always true, because
// createTable makes the indexes.
func (d Dialect) hasIndex(ctx context.Context, db *sql.DB, table, name string) (there bool, err error) {
	switch d {
	case PostgreSQL:
		err = db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM pg_indexes WHERE schemaname = current_schema() AND tablename = $1 AND indexname = $2)", table, name).Scan(&there)
	case SQLite:
		err = db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND name = ?)", table, name).Scan(&there)
	default:
		there = true
	}
	return there, err
}

// createIndex returns a statement that makes an index.
func (d Dialect) createIndex(table string, ix index) string {
	create := fmt.Sprintf("CREATE INDEX %s ON %s (%s)", ix.name, table, ix.columns)
	if d == PostgreSQL && ix.more != "" {
		create += " INCLUDE (" + ix.more + ")"
	}
	return create // in SQLite, every index of a table WITHOUT ROWID holds the primary key
}

// createTable returns a statement that makes a table if it does not exist. In MySQL it makes the
// indexes, too, and every index holds the primary key.
func (d Dialect) createTable(table string, columns []string, indexes []index) string {
	end := ""
	switch d {
	case MySQL:
		for _, ix := range indexes {
			columns = append(columns, fmt.Sprintf("KEY %s (%s)", ix.name, ix.columns))
		}
		end = " ENGINE=InnoDB ROW_FORMAT=DYNAMIC"
	case SQLite:
		end = " WITHOUT ROWID"
	}
	return fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s (%s)%s", table, strings.Join(columns, ", "), end)
}

// upsert returns a statement that inserts n rows, or changes the rows that exist. The columns of
// key are the primary key. A row in which the columns of differ would stay the same is not written.
func (d Dialect) upsert(table string, key, differ, columns []string, n int) string {
	columns = append(slices.Clone(differ), columns...)
	var b strings.Builder
	all := append(append([]string{}, key...), columns...)
	fmt.Fprintf(&b, "INSERT INTO %s (%s) VALUES ", table, strings.Join(all, ", "))
	arg := 0
	for i := range n {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteByte('(')
		for j := range all {
			if j > 0 {
				b.WriteString(", ")
			}
			arg++
			b.WriteString(d.placeholder(arg))
		}
		b.WriteByte(')')
	}
	if d == MySQL {
		b.WriteString(" ON DUPLICATE KEY UPDATE ")
	} else {
		fmt.Fprintf(&b, " ON CONFLICT (%s) DO UPDATE SET ", strings.Join(key, ", "))
	}
	for i, c := range columns {
		if i > 0 {
			b.WriteString(", ")
		}
		if d == MySQL {
			fmt.Fprintf(&b, "%s = VALUES(%s)", c, c)
		} else {
			fmt.Fprintf(&b, "%s = excluded.%s", c, c)
		}
	}
	if d != MySQL { // MySQL notices by itself that nothing changes
		for i, c := range differ {
			fmt.Fprintf(&b, " %s %s.%s <> excluded.%s", map[bool]string{true: "WHERE", false: "OR"}[i == 0], table, c, c)
		}
	}
	return b.String()
}

// in returns n placeholders, the first for argument from.
func (d Dialect) in(from, n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = d.placeholder(from + i)
	}
	return strings.Join(list, ", ")
}

// collides reports whether an error means that two transactions were in each other's way.
func collides(err error) bool {
	var state interface{ SQLState() string }
	if errors.As(err, &state) {
		switch state.SQLState() {
		case "40001", "40P01", "23505", "42P07": // serialization failure, deadlock; two made the same row or table at once
			return true
		}
		return false
	}
	text := err.Error()
	return slices.ContainsFunc([]string{
		"Error 1213", "Error 1205", "Error 1020", // MySQL: deadlock; waited too long; changed since it was read
		"SQLITE_BUSY", "database is locked", "database table is locked",
	}, func(part string) bool { return strings.Contains(text, part) })
}
