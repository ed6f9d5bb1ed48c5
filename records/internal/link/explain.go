package link

// This file says what each column adds to the odds of a pair.

// An Evidence is what a column says about a pair: that of package records, field by field.
type Evidence struct {
	Column string // "" for the row as a whole
	Kind   string
	Level  string

	Similarity float64 // of texts, and of the row as a whole
	Adds       float64 // to the log odds
}

// nameOf returns the name of a level of a column with so many, from 0, different, to most, equal; -1 if a value is missing.
func nameOf(level, most int) string {
	switch level {
	case -1:
		return "missing"
	case most:
		return "equal"
	case 0:
		return "different"
	}
	return [...]string{"somewhat similar", "similar", "nearly equal"}[(3*level-1)/most]
}

// Explain returns what each column says about two rows, by their numbers as given, and what does not come from a column: how rare matches are, and how often other
// rows have as much in common without being matches. The sum of all is the log odds.
func (r *Result) Explain(a, b int) (columns []Evidence, constant float64) {
	if r.model == nil {
		return nil, 0
	}
	t, m := r.table, r.model
	p := couple{r.places[a], r.places[b]}
	at := t.compare([]couple{p})
	odds := oddsOf(t.logs(m, p.a, at)) + m.bias
	constant = odds
	for n, c := range t.columns {
		level, most := int(at[n]), equal
		if c.whole {
			most = levels - 1
		}
		e := Evidence{Column: c.name, Kind: kindNames[c.kind], Level: nameOf(level, most)}
		if level >= 0 {
			a, b := &c.values[c.of[p.a]], &c.values[c.of[p.b]]
			if c.kind == texts {
				e.Similarity = c.similarity(a, b, 0)
			}
			of := &m.logs[n][level]
			atRandom := of[random]
			if level == equal && !c.whole {
				atRandom = a.chance
			}
			e.Adds = float64(m.worth * (of[matches] - atRandom))
		}
		constant -= e.Adds
		columns = append(columns, e)
	}
	return columns, constant
}
