package link

// This file counts how rare values and words are.

// count sets how rare values are among some rows.
func (c *column) count(rows []int32) {
	c.counted, c.pairs = 0, 0
	for i := range c.values {
		c.values[i].count = 0
	}
	for _, row := range rows {
		if n := c.of[row]; n >= 0 {
			c.values[n].count++
			c.counted++
		}
	}
	more := c.missing()
	for i := range c.values {
		v := &c.values[i]
		v.chance = ln((max(float64(v.count)-1, 0.5) + float64(c.usual()*more)) / max(float64(c.counted)+more, 1))
		c.pairs += float64(v.count) * float64(v.count-1)
	}
}

// weigh sets how rare words are among the rows that were counted.
func (c *column) weigh() {
	rows := make([]int32, len(c.words))
	for i := range c.values {
		for _, w := range c.values[i].words {
			rows[w] += c.values[i].count
		}
	}
	c.weight = make([]float64, len(rows))
	for w, n := range rows {
		c.weight[w] = ln(float64(c.counted+1) / float64(max(n, 1)))
	}
	for i := range c.values {
		v := &c.values[i]
		for _, w := range v.words {
			v.weight += c.weight[w]
		}
	}
}

// chance returns how often two rows that were counted are equal.
func (c *column) chance() float64 {
	more := c.missing()
	return (max(c.pairs, 1) + float64(c.usual()*more*more)) / max(float64(c.counted)*float64(c.counted-1)+float64(more*more), 1)
}

// information returns what it says that two rows are equal, in nats.
func (c *column) information() float64 { return -ln(c.chance()) }

// A small table does not show how often rows are equal, so some rows of a usual one are counted with it.
const (
	enoughRows = 100
	moreRows   = 0.2 // of each that is missing
)

// missing returns how many rows of a usual table are counted with those of this one.
func (c *column) missing() float64 { return moreRows * float64(max(enoughRows-c.counted, 0)) }

// usual returns how often two rows are equal in a column of this kind.
func (c *column) usual() float64 { return atRandom[c.kind][equal] }
