package fingerprints

import (
	"bufio"
	"errors"
	"io"

	arrow "github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	tree "github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/neardup/neardup/cmd/neardup/corpus"
	"github.com/neardup/neardup/cmd/neardup/options"
	"github.com/neardup/neardup/cmd/neardup/parquet"
	"github.com/neardup/neardup/cmd/neardup/rows"
)

// This file writes a table of fingerprints or signatures as Parquet.

// parquetMarks writes Parquet: an id, and one or two columns of integers or of lists of them.
type parquetMarks struct {
	b    *bufio.Writer
	rows *parquet.Writer
	of   func(k *corpus.Mark) [][]parquet.Cell // the cells behind the id
}

func newParquetMarks(w io.Writer, o *options.Options, version string) (markWriter, error) {
	t := &parquetMarks{b: bufio.NewWriterSize(w, 1<<20)}
	minhash, wide, auto := o.Method.Name == "minhash", o.Method.Bits == 128, o.Method.Name == "auto"
	var names []string
	switch {
	case auto:
		names, t.of = []string{"long", "short"}, func(k *corpus.Mark) [][]parquet.Cell {
			long, short := k.More.Levels.Values()
			return [][]parquet.Cell{listCells(long), listCells(short)}
		}
	case minhash:
		names, t.of = []string{"signature"}, func(k *corpus.Mark) [][]parquet.Cell {
			if k.Empty {
				return [][]parquet.Cell{{{}}}
			}
			return [][]parquet.Cell{listCells(Signed(k.More.Signature))}
		}
	default:
		if names = []string{"fingerprint"}; wide {
			names = append(names, "fingerprint_high")
		}
		t.of = func(k *corpus.Mark) [][]parquet.Cell {
			if k.Empty {
				return [][]parquet.Cell{{{}}, {{}}}[:len(names)]
			}
			return [][]parquet.Cell{{{Bits: k.Fingerprint.Lo, Def: 1}}, {{Bits: k.Fingerprint.Hi, Def: 1}}}[:len(names)]
		}
	}
	root, err := markSchema(names, minhash || auto)
	if err != nil {
		return nil, err
	}
	t.rows, err = parquet.NewWriter(t.b, root, compress.Codecs.Zstd, map[string]string{"neardup.version": version})
	return t, err
}

// markSchema returns a schema of a text, id, and of columns of integers of 64 bits, or of lists of integers of 32 bits.
func markSchema(names []string, areLists bool) (*tree.GroupNode, error) {
	id, err := tree.NewPrimitiveNodeLogical("id", arrow.Repetitions.Required, tree.StringLogicalType{}, arrow.Types.ByteArray, -1, -1)
	if err != nil {
		return nil, err
	}
	fields := tree.FieldList{id}
	for _, name := range names {
		var n tree.Node = tree.NewInt64Node(name, arrow.Repetitions.Optional, -1)
		if areLists {
			if n, err = rows.ListNode(name, tree.NewInt32Node("element", arrow.Repetitions.Required, -1)); err != nil {
				return nil, err
			}
		}
		fields = append(fields, n)
	}
	return tree.NewGroupNode("marks", arrow.Repetitions.Required, fields, -1)
}

// listCells returns the cells of a list that may be null, with elements that may not.
func listCells(values []int32) []parquet.Cell {
	switch {
	case values == nil:
		return []parquet.Cell{{}}
	case len(values) == 0:
		return []parquet.Cell{{Def: 1}}
	}
	cells := make([]parquet.Cell, len(values))
	for i, v := range values {
		cells[i] = parquet.Cell{Bits: uint64(int64(v)), Def: 2, Rep: int16(min(i, 1))}
	}
	return cells
}

func (t *parquetMarks) write(id string, k *corpus.Mark) error {
	return t.rows.Write(append([][]parquet.Cell{{{Bytes: []byte(id)}}}, t.of(k)...))
}

func (t *parquetMarks) end() error { return errors.Join(t.rows.Close(), t.b.Flush()) }
