package sqlstore

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/blockstore"
)

// A layout writes the statements for a table. The arguments of a statement are in the order in
// which the append methods append them.
type layout interface {
	schema() (table string, indexes []index)         // the statement that makes the table, and its indexes
	rowArgs() int                                    // how many arguments an entry has in upsert
	upsert(n int) string                             // of n entries
	appendRows(args []any, e blockstore.Entry) []any // the arguments of an entry for upsert
	delete(n int) string                             // of n ids
	search(n int) string                             // for n fingerprints; its columns: number of the fingerprint, id, fingerprint found
	exists() string                                  // whether anything is near one fingerprint
	appendSearch(args []any, fp neardup.Fingerprint64) []any
	appendExists(args []any, fp neardup.Fingerprint64) []any
	page(n int) string // n entries whose ids come after an argument
	get(n int) string  // those of n ids that are there
}

// rows is the layout Rows.
type rows struct{ *Store }

// keyType returns the type of the column for the keys of a table.
func (s rows) keyType(table int) string {
	if s.blocks.KeyBits(table) <= 31 {
		return "INT"
	}
	return "BIGINT"
}

// columns returns all columns but the id.
func (s rows) columns() []string {
	columns := []string{"fp"}
	for t := range s.blocks.Tables() {
		columns = append(columns, fmt.Sprintf("t%d", t+1))
	}
	return columns
}

func (s rows) schema() (table string, indexes []index) {
	columns := []string{"id " + s.dialect.idType() + " PRIMARY KEY", "fp BIGINT NOT NULL"}
	for t := range s.blocks.Tables() {
		columns = append(columns, fmt.Sprintf("t%d %s NOT NULL", t+1, s.keyType(t)))
		indexes = append(indexes, index{fmt.Sprintf("%s_ix%d", s.table, t+1), fmt.Sprintf("t%d, fp", t+1), "id"})
	}
	return s.dialect.createTable(s.table, columns, indexes), indexes
}

func (s rows) rowArgs() int { return 2 + s.blocks.Tables() }

func (s rows) upsert(n int) string {
	return s.dialect.upsert(s.table, []string{"id"}, s.columns(), n)
}

func (s rows) appendRows(args []any, e blockstore.Entry) []any {
	args = append(args, s.dialect.bytes(e.ID), int64(e.Fingerprint))
	for t := range s.blocks.Tables() {
		args = append(args, int64(s.blocks.Key(t, e.Fingerprint)))
	}
	return args
}

func (s rows) delete(n int) string {
	return fmt.Sprintf("DELETE FROM %s WHERE id IN (%s)", s.table, s.dialect.in(1, n))
}

// near returns the condition that a row is near a fingerprint, found by one of the tables. Its
// first argument is argument arg of the statement.
func (s rows) near(table, arg int) string {
	where := fmt.Sprintf("t%d = %s", table+1, s.dialect.placeholder(arg))
	if d := s.dialect.distance("fp", s.dialect.placeholder(arg+1)); d != "" {
		where += fmt.Sprintf(" AND %s <= %d", d, s.blocks.Distance())
	}
	return where
}

// nearArgs returns how many arguments near has: the key, and the fingerprint if the database
// computes the distance.
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

func (s rows) appendExists(args []any, fp neardup.Fingerprint64) []any {
	return s.appendSearch(args, fp)
}

func (s rows) page(n int) string {
	return fmt.Sprintf("SELECT id, fp FROM %s WHERE id > %s ORDER BY id LIMIT %d", s.table, s.dialect.placeholder(1), n)
}

func (s rows) get(n int) string {
	return fmt.Sprintf("SELECT id, fp FROM %s WHERE id IN (%s)", s.table, s.dialect.in(1, n))
}

// blockRows is the layout BlockRows.
type blockRows struct{ *Store }

func (s blockRows) schema() (table string, indexes []index) {
	name := "VARCHAR(24)"
	if s.dialect == MySQL {
		name = "VARBINARY(24)"
	}
	columns := []string{"textname " + s.dialect.idType(), "class SMALLINT", "block_name " + name + " NOT NULL", "hashcode BIGINT NOT NULL", "PRIMARY KEY (textname, class)"}
	indexes = []index{{s.table + "_ix", "block_name, hashcode", "textname"}}
	return s.dialect.createTable(s.table, columns, indexes), indexes
}

func (s blockRows) rowArgs() int { return 4 * s.blocks.Tables() }

func (s blockRows) upsert(n int) string {
	return s.dialect.upsert(s.table, []string{"textname", "class"}, []string{"hashcode", "block_name"}, n*s.blocks.Tables())
}

func (s blockRows) appendRows(args []any, e blockstore.Entry) []any {
	for t := range s.blocks.Tables() {
		args = append(args, s.dialect.bytes(e.ID), int64(t+1), int64(e.Fingerprint), s.dialect.bytes(s.blocks.KeyName(t, e.Fingerprint)))
	}
	return args
}

func (s blockRows) delete(n int) string {
	return fmt.Sprintf("DELETE FROM %s WHERE textname IN (%s)", s.table, s.dialect.in(1, n))
}

// near returns the condition that a row has one of the given number of block names and is near a
// fingerprint. The names are the arguments from arg on, and the fingerprint is argument fp.
func (s blockRows) near(names, arg, fp int) string {
	where := fmt.Sprintf("block_name IN (%s)", s.dialect.in(arg, names))
	if d := s.dialect.distance("hashcode", s.dialect.placeholder(fp)); d != "" {
		where += " AND " + d + " <= " + strconv.Itoa(s.blocks.Distance())
	}
	return where
}

func (s blockRows) search(n int) string {
	var selects []string
	tables := s.blocks.Tables()
	args := tables + 1
	if s.dialect == SQLite {
		args--
	}
	for i := range n {
		selects = append(selects, fmt.Sprintf("SELECT %d, textname, hashcode FROM %s WHERE %s", i, s.table, s.near(tables, 1+i*args, 1+i*args+tables)))
	}
	return strings.Join(selects, " UNION ALL ")
}

// exists asks for one block name after the other. If several are in one condition, PostgreSQL reads
// the whole table.
func (s blockRows) exists() string {
	var tests []string
	for t := range s.blocks.Tables() {
		tests = append(tests, fmt.Sprintf("EXISTS (SELECT 1 FROM %s WHERE %s)", s.table, s.near(1, 1+2*t, 2+2*t)))
	}
	return "SELECT " + strings.Join(tests, " OR ")
}

func (s blockRows) appendSearch(args []any, fp neardup.Fingerprint64) []any {
	for t := range s.blocks.Tables() {
		args = append(args, s.dialect.bytes(s.blocks.KeyName(t, fp)))
	}
	if s.dialect != SQLite {
		args = append(args, int64(fp))
	}
	return args
}

func (s blockRows) appendExists(args []any, fp neardup.Fingerprint64) []any {
	for t := range s.blocks.Tables() {
		args = append(args, s.dialect.bytes(s.blocks.KeyName(t, fp)), int64(fp))
	}
	return args
}

func (s blockRows) page(n int) string {
	return fmt.Sprintf("SELECT textname, hashcode FROM %s WHERE class = 1 AND textname > %s ORDER BY textname LIMIT %d", s.table, s.dialect.placeholder(1), n)
}

func (s blockRows) get(n int) string {
	return fmt.Sprintf("SELECT textname, hashcode FROM %s WHERE class = 1 AND textname IN (%s)", s.table, s.dialect.in(1, n))
}
