package output

import (
	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/cmd/neardup/rows"
)

// This file writes Arrow.

// An arrowOut writes rows of any sources.
type arrowOut struct {
	tableOut
	out *rows.ArrowWriter
}

func newArrowOut(table tableOut) (Writer, error) {
	out, err := rows.NewArrowWriter(table.W, table.columns)
	return &arrowOut{table, out}, err
}

func (o *arrowOut) Write(_ *input.Source, _ *input.Item, row Row) error {
	return o.out.Write(row.values)
}

func (o *arrowOut) End() error { return o.out.End() }
