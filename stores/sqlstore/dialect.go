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
	// MySQL is MariaDB, too: sql.Open("mysql", "user:password@tcp(host:3306)/database") of github.com/go-sql-driver/mysql.
	MySQL Dialect = iota + 1

	// PostgreSQL must be version 14 or later, and the database UTF-8: sql.Open("pgx", "postgres://user:password@host/database") of
	// github.com/jackc/pgx/v5/stdlib.
	PostgreSQL

	// SQLite cannot count bits: it returns all that have a key, and the distances are computed here. For several goroutines it needs
	// options: sql.Open("sqlite", "file:store.db?_pragma=journal_mode(WAL)&_pragma=busy_timeout(10000)&_txlock=immediate") of
	// modernc.org/sqlite.
	SQLite
)

// placeholder returns that of argument i of a statement, from 1 on.
func (d Dialect) placeholder(i int) string {
	if d == PostgreSQL {
		return fmt.Sprintf("$%d", i)
	}
	return "?"
}

// maxArgs is how many arguments a statement may have.
func (d Dialect) maxArgs() int {
	if d == SQLite {
		return 30_000
	}
	return 60_000
}

// idType is a type of column that holds ids and compares them byte by byte.
func (d Dialect) idType() string {
	switch d {
	case MySQL:
		return "VARBINARY(1024)"
	case PostgreSQL:
		return `TEXT COLLATE "C"`
	}
	return "TEXT"
}

// textType is a type of column for long texts.
func (d Dialect) textType() string {
	if d == MySQL {
		return "MEDIUMBLOB"
	}
	return "TEXT"
}

// bytes returns a string as an argument for a column that compares bytes.
func (d Dialect) bytes(s string) any {
	if d == MySQL {
		return []byte(s)
	}
	return s
}

// distance is the expression for the Hamming distance of a column and an argument, or "" if there is none.
func (d Dialect) distance(column, argument string) string {
	switch d {
	case MySQL:
		return fmt.Sprintf("BIT_COUNT(%s ^ %s)", column, argument)
	case PostgreSQL:
		return fmt.Sprintf("bit_count((%s # %s::bigint)::bit(64))", column, argument)
	}
	return ""
}

// insertSettings is a statement that inserts the row 1, or does nothing if there is one.
func (d Dialect) insertSettings(table string) string {
	insert := fmt.Sprintf("INSERT INTO %s (id, settings) VALUES (1, %s)", table, d.placeholder(1))
	if d == MySQL {
		return insert + " ON DUPLICATE KEY UPDATE id = id"
	}
	return insert + " ON CONFLICT DO NOTHING"
}

// An index is one of a table. It also holds the columns that are more, and the primary key.
type index struct{ name, columns, more string }

// hasIndex reports whether a table has an index. Those of MySQL are made with the table.
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

func (d Dialect) createIndex(table string, ix index) string {
	create := fmt.Sprintf("CREATE INDEX %s ON %s (%s)", ix.name, table, ix.columns)
	if d == PostgreSQL {
		create += " INCLUDE (" + ix.more + ")"
	}
	return create // in SQLite the primary key is in every index of a table WITHOUT ROWID
}

// createTable is a statement that makes a table, if there is none. The primary key is in every index of MySQL.
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

// upsert is a statement that inserts n rows, or changes those that are there. The first columns are the primary key.
func (d Dialect) upsert(table string, key, columns []string, n int) string {
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
	if d != MySQL { // MySQL sees by itself that nothing changes
		fmt.Fprintf(&b, " WHERE %s.%s <> excluded.%s", table, columns[0], columns[0])
	}
	return b.String()
}

// in is n placeholders, from a number on.
func (d Dialect) in(from, n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = d.placeholder(from + i)
	}
	return strings.Join(list, ", ")
}

// collides reports whether an error is of two transactions that were in each other's way.
func collides(err error) bool {
	var state interface{ SQLState() string }
	if errors.As(err, &state) {
		switch state.SQLState() {
		case "40001", "40P01", "23505", "42P07": // serialization, deadlock; made by two at once
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
