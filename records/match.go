package records

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/records/internal/link"
)

// This file finds rows of a table that are about the same thing. Package internal/link does the work.

// MatchOptions are the settings of [Match]. The zero value is right for most tables.
type MatchOptions struct {
	// Columns are the columns that are compared; nil means all. Leave out columns that say where a row is from, and ids that some rows share.
	Columns []string

	// Sources links tables: it has the source of each row. Two rows of one source never match, and a row matches one row of another source at most. Nil means that
	// any rows may match.
	Sources []int

	// Keys are columns that tell things apart, such as a DOI or a date of birth: two rows with different values in one of them never match. A missing value differs
	// from none.
	Keys []string

	// Labels are pairs of which somebody has said whether they match: the others are decided accordingly. A few change little; a hundred count as much as all that the table
	// teaches without them. Hard cases say most: pairs whose probability is near one half. A pair that is labelled as no match is in no group together, whatever others
	// say; one that is labelled as a match is in Pairs with a probability of 1, unless Sources or Keys forbid it.
	Labels []Label

	// Probability is the smallest probability of a match, above 0 and below 1; 0 means 0.5.
	Probability float64
}

// A Label says whether two rows, given by their positions, match. The order of A and B does not matter.
type Label struct {
	A, B int
	Same bool
}

// Match finds the rows of a table that are about the same thing: a person, a product, a publication. It needs no labels and no settings.
//
// What a column is (text, number, date, code) is found from its values, and so is how much it says: two rows that agree on a rare surname have more in common
// than two in the same state. The numbers in texts, such as those of houses, sizes and editions, are a column of their own. A missing value says nothing. The
// weights are those of Fellegi and Sunter (1969), learned from the table by EM (Winkler 1988). It deviates from these in four ways: rows that have only some
// columns in common, such as the articles in one issue of a journal or the works of an author, are two classes of their own; the row as a whole is compared like
// one more column; how rare a value is, is counted among the groups that are found, not the rows; and because columns depend on each other, all of them together
// count as no more than three and a half independent ones.
//
// So what is found depends on the whole table: a pair may be a match in one table and none in another. The order of the rows changes nothing, nor does the
// number of processors or the platform. Values are compared without case, accents and punctuation, and may be any bytes. A small table, or one with a single
// column, teaches little, and is decided by what matches have in common in other tables.
//
// Pairs are compared if they share a value or a word that at most 40 rows have, or two of them that at most 40 rows have together, and if what they share is rare
// enough; others are missed. Of up to 50 rows all pairs are compared. Memory is 2 to 4 kB for a row of a few words, or 14 bytes for each byte of
// longer rows, and time grows nearly in proportion. It is an error if Probability is out of range, if a column or key that is named does not exist,
// if the number of Sources is not that of the rows, or if ctx ends.
func Match(ctx context.Context, rows []neardup.Record, o MatchOptions) (*Matches, error) {
	p := o.Probability
	if p == 0 {
		p = 0.5
	}
	names, err := o.check(p, rows)
	if err != nil {
		return nil, err
	}
	cells := make([][]string, len(names))
	for n, name := range names {
		cells[n] = make([]string, len(rows))
		for i, row := range rows {
			cells[n][i] = row[name]
		}
	}
	rules := link.Rules{Sources: o.Sources, Keys: o.Keys}
	for _, l := range o.Labels {
		rules.Labels = append(rules.Labels, link.Label(l))
	}
	odds := link.OddsOf(p)
	result, err := link.Link(ctx, names, cells, len(rows), rules, odds)
	if err != nil {
		return nil, err
	}
	m := &Matches{Ignored: result.Ignored, odds: odds, result: result, rows: len(rows)}
	m.Pairs = m.PairsFrom(p)
	members := map[int32][]int{}
	for row, first := range result.Groups {
		members[first] = append(members[first], row)
	}
	for _, first := range slices.Sorted(maps.Keys(members)) {
		if len(members[first]) > 1 {
			m.Groups = append(m.Groups, members[first])
		}
	}
	return m, nil
}

// check returns the columns that are compared, or an error if an option is wrong. p is the probability.
func (o *MatchOptions) check(p float64, rows []neardup.Record) ([]string, error) {
	if !(p > 0 && p < 1) {
		return nil, fmt.Errorf("records: probability %g: must be above 0 and below 1", o.Probability)
	}
	if len(rows) > math.MaxInt32 {
		return nil, errors.New("records: too many rows")
	}
	if o.Sources != nil && len(o.Sources) != len(rows) {
		return nil, fmt.Errorf("records: %d rows have %d sources", len(rows), len(o.Sources))
	}
	for _, l := range o.Labels {
		if l.A == l.B || min(l.A, l.B) < 0 || max(l.A, l.B) >= len(rows) {
			return nil, fmt.Errorf("records: a label is for the rows %d and %d of %d", l.A, l.B, len(rows))
		}
	}
	names, err := columnsIn(rows, o.Columns)
	if err != nil {
		return nil, err
	}
	for _, key := range o.Keys {
		if !slices.Contains(names, key) && len(rows) > 0 {
			return nil, fmt.Errorf("records: the key %q is none of the columns, which are %q", key, names)
		}
	}
	return names, nil
}

// columnsIn returns the columns that are wanted, in order; nil for all that the rows have.
func columnsIn(rows []neardup.Record, wanted []string) ([]string, error) {
	all := map[string]bool{}
	for _, row := range rows {
		for name := range row {
			all[name] = true
		}
	}
	names := slices.Sorted(maps.Keys(all))
	if wanted == nil {
		return names, nil
	}
	for _, name := range wanted {
		if !all[name] && len(rows) > 0 {
			return nil, fmt.Errorf("records: unknown column %q: the rows have %q", name, names)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(wanted))), nil
}

// Matches are what [Match] has found. Rows are known by their positions. Methods may be called from several goroutines, and take turns.
type Matches struct {
	// Pairs are the pairs of rows with at least the probability, in the order of their positions. Similarity is that of the rows as a whole, and Kind is not
	// set. Of rows that are equal, the first one stands for all: each of the others is in one pair, with that.
	Pairs []neardup.Pair[int]

	// Groups are the groups of two or more rows, in the order of their first members; each has its members in order. A row is in one group at most. Two groups are
	// joined if the log odds of all pairs between them add up to more than 0, so a group may have pairs that are not in Pairs, and one doubtful pair joins no large
	// groups.
	Groups [][]int

	// Ignored are the columns that say nothing: all rows have the same value, or each has a code or number of its own, such as an id.
	Ignored []string

	odds   float64 // of a match, their logarithm
	rows   int
	mu     sync.Mutex // for what follows
	result *link.Result
	index  *link.Index // nil before the first search
}

// PairsFrom returns the pairs with at least a probability, as Pairs has them, without matching again. Pairs below 0.0004 are not kept. With Sources, a pair that
// is in no group is not returned.
func (m *Matches) PairsFrom(probability float64) (pairs []neardup.Pair[int]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.result.Pairs(link.OddsOf(probability)) {
		pairs = append(pairs, neardup.Pair[int]{A: int(p.A), B: int(p.B), Similarity: p.Similarity, Probability: link.ProbabilityOf(p.Odds)})
	}
	return pairs
}

// Search returns the rows of the table that match another row, the likeliest first. ID is the position of a row. What the columns say is what Match has learned: the
// row changes nothing, and may be of any source. Rows are compared as in Match, except that of parts that more than 40 rows have, all that two rows share counts
// together; parts that more than 10,000 rows have are skipped, and at most 1000 rows are compared. A table of fewer than two rows has no matches.
//
// The first search makes an index, which takes some 20 bytes for each word of the table. Searching a million rows takes about a millisecond.
func (m *Matches) Search(row neardup.Record) (found []neardup.Match[int]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.index == nil {
		m.index = link.NewIndex(m.result)
	}
	for _, p := range m.index.Search(row, m.odds) {
		found = append(found, neardup.Match[int]{ID: int(p.A), Similarity: p.Similarity, Probability: link.ProbabilityOf(p.Odds)})
	}
	return found
}

// Wrong returns how many of the pairs are expected to be no matches: the sum of 1 minus their probabilities.
func (m *Matches) Wrong() (n float64) {
	for _, p := range m.Pairs {
		n += 1 - p.Probability
	}
	return n
}

// An Evidence is what one column says about a pair of rows.
type Evidence struct {
	Column string // "" for the row as a whole, and for what comes from no column
	Kind   string // text, number, date, code or numbers in the text, as found from the values; "" for what comes from no column
	Level  string // equal, nearly equal, similar, somewhat similar, different, or missing

	Similarity float64 // of a text, and of the row as a whole: from 0 to 1, the share of the words in common, by how rare they are
	Adds       float64 // to the logarithm of the odds
}

// Explain returns what each column says about the rows at two positions, whether they are a pair or not, and the probability that they match. What the columns add, and
// the last Evidence, which has no column, are the logarithm of the odds: the last one is how rare matches are in the table, less what rows that are no
// matches have in common. It panics if a position is out of range.
func (m *Matches) Explain(a, b int) (evidence []Evidence, probability float64) {
	if a < 0 || b < 0 || a >= m.rows || b >= m.rows {
		panic(fmt.Sprintf("records: rows %d and %d of %d", a, b, m.rows))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	columns, odds := m.result.Explain(a, b)
	constant := odds
	for _, c := range columns {
		evidence = append(evidence, Evidence(c))
		odds += c.Adds
	}
	return append(evidence, Evidence{Adds: constant}), link.ProbabilityOf(odds)
}

// String returns the evidence on a line.
func (e Evidence) String() string {
	switch {
	case e.Kind == "":
		return fmt.Sprintf("%+.2f  rare matches, and rows like them", e.Adds)
	case e.Column == "":
		return fmt.Sprintf("%+.2f  the row as a whole: %s", e.Adds, e.Level)
	}
	return fmt.Sprintf("%+.2f  %s (%s): %s", e.Adds, strings.TrimSpace(e.Column), e.Kind, e.Level)
}
