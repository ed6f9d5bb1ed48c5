package rows

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/parquet/compress"

	"github.com/neardup/neardup/cmd/neardup/parquet"
)

// A maker makes random values.
type maker struct{ *rand.Rand }

// one returns a value of a kind.
func (m maker) one(k kind, depth int) Value {
	if m.IntN(4) == 0 {
		return nil
	}
	at := time.UnixMicro(m.Int64N(1<<52) - 1<<51).UTC()
	switch k {
	case bools:
		return m.IntN(2) == 0
	case integers:
		return Number(fmt.Sprint(m.Int64() - 1<<62))
	case floats:
		switch m.IntN(12) {
		case 0:
			return Number(fmt.Sprintf("%d.%d", m.Int64()-1<<62, m.IntN(1000)))
		case 1:
			return Number(fmt.Sprintf("-0.%020d", m.IntN(1e9)))
		case 2:
			return Number("18446744073709551615")
		}
		if m.Uint64()%2 == 0 {
			return Number(fmt.Sprint(float64(m.IntN(1e6)) / 64))
		}
		return m.NormFloat64()
	case instants:
		return Time{m.time(at), Instant}
	case locals:
		return Time{m.time(at), Local}
	case dates:
		return Time{at.Truncate(24 * time.Hour), Date}
	case clocks:
		return Time{time.UnixMicro(m.Int64N(86_400_000_000)).UTC().Add(time.Duration(m.IntN(2)) * time.Duration(m.IntN(1000))), Clock}
	case binaries:
		return []byte{0xFF, byte(m.IntN(256))}
	case lists:
		list := List{}
		of := m.kind(depth)
		for range m.IntN(4) {
			list = append(list, m.one(of, depth-1))
		}
		return list
	case structs:
		return m.row(m.IntN(3), depth-1)
	}
	return fmt.Sprintf("text %d \"<é>\n", m.IntN(100))
}

// time returns a time that needs nanoseconds, or is in a year that these or microseconds do not reach, or at.
func (m maker) time(at time.Time) time.Time {
	switch m.IntN(40) {
	case 0:
		return at.Add(time.Duration(m.IntN(1000)))
	case 1:
		return time.Date(9999, 1, 2, 3, 4, 5, 6000, time.UTC)
	case 2:
		return time.Unix(1<<44, 0).UTC()
	}
	return at
}

// kind returns a kind, whose depth is bounded.
func (m maker) kind(depth int) kind {
	k := bools + kind(m.IntN(int(mixed-bools)))
	if k >= lists && depth == 0 {
		return texts
	}
	return k
}

// row returns some fields.
func (m maker) row(n, depth int) Struct {
	row := Struct{}
	for i := range n {
		if m.IntN(5) > 0 {
			row = append(row, Field{fmt.Sprint("f", i), m.one(m.kind(depth), depth)})
		}
	}
	return row
}

// as returns what a column holds of a value: fields of structs in the order of all, and what does not fit as text.
func (t *columnType) as(v Value) Value {
	if v == nil {
		return nil
	}
	if !t.isPlain() {
		return Text(v)
	}
	switch v := v.(type) {
	case List:
		list := List{}
		for _, x := range v {
			list = append(list, t.of.as(x))
		}
		return list
	case Struct:
		row := Struct{}
		for i, x := range t.fields.Values(v, nil) {
			row = append(row, Field{t.fields.names[i], t.fields.types[i].as(x)})
		}
		return row
	case Number:
		if t.isDecimal() {
			whole, behind, _ := strings.Cut(string(v), ".")
			if t.behind > 0 {
				whole += "." + behind + strings.Repeat("0", t.behind-len(behind))
			}
			return Number(whole)
		}
		if t.kind == floats {
			var x float64
			fmt.Sscan(string(v), &x)
			return x
		}
	}
	return v
}

// randomTable returns random rows, some of which have values of another kind in a column.
func randomTable(seed uint64) (c *Columns, all []Struct) {
	m := maker{rand.New(rand.NewPCG(seed, 1))}
	kinds := make([]kind, 1+m.IntN(5))
	for i := range kinds {
		kinds[i] = m.kind(3)
	}
	c = &Columns{}
	for range m.IntN(40) {
		row := Struct{}
		for i, k := range kinds {
			if m.IntN(30) == 0 {
				k = m.kind(3)
			}
			row = append(row, Field{fmt.Sprint("column ", len(kinds)-i), m.one(k, 3)})
		}
		c.Add(row)
		all = append(all, row)
	}
	return c, all
}

// TestArrow writes random rows, with lists and structs in each other, and reads them again.
func TestArrow(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		c, all := randomTable(seed)
		if len(all) == 0 {
			continue
		}
		for range 12 { // several batches
			if seed == 7 {
				all = slices.Repeat(all, 2)
			}
		}
		var file bytes.Buffer
		w, err := NewArrowWriter(&file, c)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range all {
			if err := w.Write(c.Values(row, nil)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.End(); err != nil {
			t.Fatal(err)
		}
		r, err := ipc.NewFileReader(bytes.NewReader(file.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for b := range r.NumRecords() {
			batch, err := r.RecordBatchAt(b)
			if err != nil {
				t.Fatal(err)
			}
			for i := range int(batch.NumRows()) {
				for k, want := range c.Values(all[n], nil) {
					if got, want := ArrowValue(batch.Column(k), i), c.types[k].as(want); !reflect.DeepEqual(got, want) {
						t.Fatalf("seed %d, row %d, column %d: %#v instead of %#v", seed, n, k, got, want)
					}
				}
				n++
			}
		}
		if n != len(all) {
			t.Fatalf("seed %d: %d rows instead of %d", seed, n, len(all))
		}
	}
}

// TestParquet writes random rows, with lists and structs in each other, and reads them again.
func TestParquet(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		c, all := randomTable(seed)
		if len(all) == 0 {
			continue
		}
		var file bytes.Buffer
		root, err := c.Schema()
		if err != nil {
			t.Fatal(err)
		}
		w, err := parquet.NewWriter(&file, root, compress.Codecs.Zstd, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range all {
			if err := w.Write(c.Row(nil, c.Values(row, nil))); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		p, err := parquet.Open(bytes.NewReader(file.Bytes()), int64(file.Len()), 1<<24)
		if err != nil {
			t.Fatal(err)
		}
		var columns []int
		for i := range p.Schema().NumColumns() {
			columns = append(columns, i)
		}
		r := NewParquetReader(p.Schema(), make([]bool, len(columns)))
		if names := ParquetNames(p.Schema()); !slices.Equal(names, c.Names()) {
			t.Fatalf("seed %d: columns %q instead of %q", seed, names, c.Names())
		}
		n := 0
		for g := range p.Groups() {
			from, err := p.Group(g, columns)
			if err != nil {
				t.Fatal(err)
			}
			for err = from.Next(); err == nil; err = from.Next() {
				got, want := r.Read(from.Row()), c.Values(all[n], nil)
				for i := range want {
					if want := c.types[i].as(want[i]); !reflect.DeepEqual(got[i], want) {
						t.Fatalf("seed %d, row %d, column %d: %#v instead of %#v", seed, n, i, got[i], want)
					}
				}
				n++
			}
			if err != io.EOF {
				t.Fatal(err)
			}
			from.Close()
		}
		if n != len(all) {
			t.Fatalf("seed %d: %d rows instead of %d", seed, n, len(all))
		}
	}
}

// TestJSON: what is written as JSON is JSON, and comes back as it was, as far as JSON has it.
func TestJSON(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`null`, `true`, `-1.50`, `12345678901234567890`, `1e400`, `"a<b>& \" \\ é \n"`, `[]`, `{}`, `[1,[null,{"b":[],"a":{"c":false}}],"x"]`,
	} {
		v, err := ParseJSON([]byte(text))
		if got := string(AppendJSON(nil, v)); err != nil || got != text {
			t.Errorf("%s became %s, %v", text, got, err)
		}
	}
	v, err := ParseJSON([]byte(`{"a":1,"b":2,"a":3}`))
	if got := string(AppendJSON(nil, v)); err != nil || got != `{"a":3,"b":2}` {
		t.Errorf("two fields of one name became %s, %v", got, err)
	}
	for _, bad := range []string{``, `{`, `[1`, `{"a"}`, `1 2`, `{"a":1}}`, `nul`} {
		if v, err := ParseJSON([]byte(bad)); err == nil {
			t.Errorf("%q became %v", bad, v)
		}
	}
	for seed := range uint64(200) {
		m := maker{rand.New(rand.NewPCG(seed, 2))}
		row := m.row(6, 3)
		if text := AppendJSON(nil, row); !json.Valid(text) {
			t.Errorf("%#v became %s", row, text)
		}
	}
}

// FuzzParseJSON: what is read and written is read the same again.
func FuzzParseJSON(f *testing.F) {
	for _, text := range []string{`{"a":[1,2.50,"x",null,true,{"b":{}}]}`, `[[[[]]]]`, `"\ud800"`, `{"a":1,"a":{}}`, `-0`, `1E+2`, `{"a":01}`, `[NaN,inf]`, `{"a":1,"b":2,"a":3}`, "\"\xff\"", "\"\x01\"", "{\n}", `{"\u0061":"\\ud800 \t"}`,
		`{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1,"k":1,"l":1,"m":1,"n":1,"o":1,"p":1,"q":1,"a":2,"q":2}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := ParseJSON(text)
		if (err == nil) != json.Valid(text) {
			t.Fatalf("%q: %v", text, err)
		}
		if slow, wrong := parseAny(text); (err == nil) != (wrong == nil) || !reflect.DeepEqual(v, slow) {
			t.Fatalf("%q: %#v, %v, but encoding/json has %#v, %v", text, v, err, slow, wrong)
		}
		if err != nil {
			return
		}
		again, err := ParseJSON(AppendJSON(nil, v))
		if err != nil || !reflect.DeepEqual(v, again) {
			t.Fatalf("%q: %#v became %#v, %v", text, v, again, err)
		}
	})
}

// TestHalfFloat: numbers of 16 bits, by IEEE 754.
func TestHalfFloat(t *testing.T) {
	for bits, want := range map[uint16]float64{0x0001: 5.960464477539063e-08, 0x03FF: 6.097555160522461e-05, 0x0400: 6.103515625e-05, 0x3C00: 1, 0x3555: 0.333251953125, 0x7BFF: 65504, 0xC000: -2, 0x8001: -5.960464477539063e-08, 0xFC00: math.Inf(-1), 0x7C00: math.Inf(1)} {
		if got := halfFloat(bits); got != want {
			t.Errorf("%#x is %v instead of %v", bits, got, want)
		}
	}
	if !math.IsNaN(halfFloat(0x7E00)) {
		t.Error("NaN")
	}
	if text := (Time{time.Unix(86_400, 0), Clock}).String(); text != "24:00:00" {
		t.Error(text)
	}
}

// TestStamp: a time of day counts from midnight, whatever day it stands in, and 24:00 is none of the next day.
func TestStamp(t *testing.T) {
	for want, at := range map[int64]time.Time{
		6 * 3_600_000_000:  time.Date(1899, 12, 30, 6, 0, 0, 0, time.UTC),
		7 * 3_600_000_000:  time.Date(1970, 1, 1, 7, 0, 0, 0, time.UTC),
		8 * 3_600_000_000:  time.Date(2026, 1, 1, 8, 0, 0, 0, time.UTC),
		24 * 3_600_000_000: time.Unix(86_400, 0),
	} {
		if got := (&columnType{kind: clocks}).stamp(at); got != want {
			t.Errorf("%v is %d instead of %d", at, got, want)
		}
	}
}
