package sqlstore

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/neardup/neardup"
)

// A layout writes the statements for a table. Their arguments are in the order of the methods that append them.
type layout interface {
	schema() []string
	rowArgs() int // of an entry
	upsert(n int) string
	appendRows(args []any, e neardup.StoreEntry) []any
	delete(n int) string
	search(n int) string // of n fingerprints: number of the fingerprint, id, fingerprint found
	exists() string
	appendSearch(args []any, fp neardup.Fingerprint64) []any
	page(n int) string
}

// rows is the layout Rows.
type rows struct{ *Store }

// keyType is the type of the column of a table's keys.
func (s rows) keyType(table int) string {
	if s.blocks.KeyBits(table) <= 31 {
		return "INT"
	}
	return "BIGINT"
}

func (s rows) columns() []string {
	columns := []string{"fp"}
	for t := range s.blocks.Tables() {
		columns = append(columns, fmt.Sprintf("t%d", t+1))
	}
	return columns
}

func (s rows) schema() []string {
	columns := []string{"id " + s.dialect.idType() + " PRIMARY KEY", "fp BIGINT NOT NULL"}
	for t := range s.blocks.Tables() {
		columns = append(columns, fmt.Sprintf("t%d %s NOT NULL", t+1, s.keyType(t)))
	}
	return s.dialect.createTable(s.table, columns, func(yield func(name, columns, more string)) {
		for t := range s.blocks.Tables() {
			yield(fmt.Sprintf("%s_t%d", s.table, t+1), fmt.Sprintf("t%d, fp", t+1), "id")
		}
	})
}

func (s rows) rowArgs() int { return 2 + s.blocks.Tables() }

func (s rows) upsert(n int) string {
	return s.dialect.upsert(s.table, []string{"id"}, s.columns(), n)
}

func (s rows) appendRows(args []any, e neardup.StoreEntry) []any {
	args = append(args, s.dialect.id(e.ID), int64(e.Fingerprint))
	for t := range s.blocks.Tables() {
		args = append(args, int64(s.blocks.Key(t, e.Fingerprint)))
	}
	return args
}

func (s rows) delete(n int) string {
	return fmt.Sprintf("DELETE FROM %s WHERE id IN (%s)", s.table, s.dialect.in(1, n))
}

// near is the condition that a row is near a fingerprint in a table, with the arguments from a number on.
func (s rows) near(table, arg int) string {
	where := fmt.Sprintf("t%d = %s", table+1, s.dialect.placeholder(arg))
	if d := s.dialect.distance("fp", s.dialect.placeholder(arg+1)); d != "" {
		where += fmt.Sprintf(" AND %s <= %d", d, s.blocks.Distance())
	}
	return where
}

// nearArgs is how many arguments near has.
func (s rows) nearArgs() int {
	if s.dialect == SQLite {
		return 1
	}
	return 2
}

func (s rows) search(n int) string {
	var selects []string
	for i := range n {
		for t := range s.blocks.Tables() {
			where := s.near(t, 1+len(selects)*s.nearArgs())
			selects = append(selects, fmt.Sprintf("SELECT %d, id, fp FROM %s WHERE %s", i, s.table, where))
		}
	}
	return strings.Join(selects, " UNION ALL ")
}

func (s rows) exists() string {
	var tests []string
	for t := range s.blocks.Tables() {
		tests = append(tests, fmt.Sprintf("EXISTS (SELECT 1 FROM %s WHERE %s)", s.table, s.near(t, 1+t*s.nearArgs())))
	}
	return "SELECT " + strings.Join(tests, " OR ")
}

func (s rows) appendSearch(args []any, fp neardup.Fingerprint64) []any {
	for t := range s.blocks.Tables() {
		args = append(args, int64(s.blocks.Key(t, fp)))
		if s.nearArgs() == 2 {
			args = append(args, int64(fp))
		}
	}
	return args
}

func (s rows) page(n int) string {
	return fmt.Sprintf("SELECT id, fp FROM %s WHERE id > %s ORDER BY id LIMIT %d", s.table, s.dialect.placeholder(1), n)
}

// blockRows is the layout S003.
type blockRows struct{ *Store }

// blockName returns the name of a block as S003 has it: the class from 1 on, and the key in hexadecimal digits.
func (s blockRows) blockName(table int, fp neardup.Fingerprint64) string {
	return fmt.Sprintf("%d:%0*x", table+1, (s.blocks.KeyBits(table)+3)/4, s.blocks.Key(table, fp))
}

func (s blockRows) schema() []string {
	name := "VARCHAR(24)"
	if s.dialect == MySQL {
		name = "VARBINARY(24)"
	}
	columns := []string{"textname " + s.dialect.idType(), "class SMALLINT", "block_name " + name + " NOT NULL", "hashcode BIGINT NOT NULL", "PRIMARY KEY (textname, class)"}
	return s.dialect.createTable(s.table, columns, func(yield func(name, columns, more string)) {
		yield(s.table+"_block_name", "block_name, hashcode", "textname")
	})
}

func (s blockRows) rowArgs() int { return 4 * s.blocks.Tables() }

func (s blockRows) upsert(n int) string {
	return s.dialect.upsert(s.table, []string{"textname", "class"}, []string{"hashcode", "block_name"}, n*s.blocks.Tables())
}

func (s blockRows) appendRows(args []any, e neardup.StoreEntry) []any {
	for t := range s.blocks.Tables() {
		args = append(args, s.dialect.id(e.ID), int64(t+1), int64(e.Fingerprint), s.dialect.id(s.blockName(t, e.Fingerprint)))
	}
	return args
}

func (s blockRows) delete(n int) string {
	return fmt.Sprintf("DELETE FROM %s WHERE textname IN (%s)", s.table, s.dialect.in(1, n))
}

// near is the condition that a row is near a fingerprint, with the arguments from a number on.
func (s blockRows) near(arg int) string {
	n := s.blocks.Tables()
	where := fmt.Sprintf("block_name IN (%s)", s.dialect.in(arg, n))
	if d := s.dialect.distance("hashcode", s.dialect.placeholder(arg+n)); d != "" {
		where += " AND " + d + " <= " + strconv.Itoa(s.blocks.Distance())
	}
	return where
}

func (s blockRows) search(n int) string {
	var selects []string
	args := s.blocks.Tables() + 1
	if s.dialect == SQLite {
		args--
	}
	for i := range n {
		selects = append(selects, fmt.Sprintf("SELECT %d, textname, hashcode FROM %s WHERE %s", i, s.table, s.near(1+i*args)))
	}
	return strings.Join(selects, " UNION ALL ")
}

func (s blockRows) exists() string {
	return fmt.Sprintf("SELECT EXISTS (SELECT 1 FROM %s WHERE %s)", s.table, s.near(1))
}

func (s blockRows) appendSearch(args []any, fp neardup.Fingerprint64) []any {
	for t := range s.blocks.Tables() {
		args = append(args, s.dialect.id(s.blockName(t, fp)))
	}
	if s.dialect != SQLite {
		args = append(args, int64(fp))
	}
	return args
}

func (s blockRows) page(n int) string {
	return fmt.Sprintf("SELECT textname, hashcode FROM %s WHERE class = 1 AND textname > %s ORDER BY textname LIMIT %d", s.table, s.dialect.placeholder(1), n)
}

// createTable returns the statements that make a table and its indexes, if they are not there. The indexes also hold the
// columns that are more, and the primary key.
func (d Dialect) createTable(table string, columns []string, indexes func(yield func(name, columns, more string))) []string {
	statements := []string{""}
	indexes(func(name, indexed, more string) {
		switch d {
		case MySQL: // the primary key is in every index
			columns = append(columns, fmt.Sprintf("KEY %s (%s)", name, indexed))
		case PostgreSQL:
			statements = append(statements, fmt.Sprintf("CREATE INDEX IF NOT EXISTS %s ON %s (%s) INCLUDE (%s)", name, table, indexed, more))
		case SQLite: // as it is WITHOUT ROWID
			statements = append(statements, fmt.Sprintf("CREATE INDEX IF NOT EXISTS %s ON %s (%s)", name, table, indexed))
		}
	})
	end := ""
	switch d {
	case MySQL:
		end = " ENGINE=InnoDB"
	case SQLite:
		end = " WITHOUT ROWID"
	}
	statements[0] = fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s (%s)%s", table, strings.Join(columns, ", "), end)
	return statements
}
