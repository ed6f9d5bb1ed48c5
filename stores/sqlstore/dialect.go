package sqlstore

import (
	"errors"
	"fmt"
	"strings"
)

// A Dialect is the SQL of a database.
type Dialect int

const (
	MySQL      Dialect = iota + 1 // and MariaDB
	PostgreSQL                    // from version 14 on
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

// id returns an id as an argument.
func (d Dialect) id(id string) any {
	if d == MySQL {
		return []byte(id)
	}
	return id
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

// insertNew is a statement that inserts a row, or does nothing if there is one.
func (d Dialect) insertNew(table, columns, values string) string {
	if d == MySQL {
		return fmt.Sprintf("INSERT IGNORE INTO %s (%s) VALUES (%s)", table, columns, values)
	}
	return fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s) ON CONFLICT DO NOTHING", table, columns, values)
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
	return strings.Contains(text, "Deadlock") || strings.Contains(text, "Lock wait timeout") || strings.Contains(text, "Record has changed since last read") ||
		strings.Contains(text, "SQLITE_BUSY") || strings.Contains(text, "database is locked") || strings.Contains(text, "database table is locked")
}
