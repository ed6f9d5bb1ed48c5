package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"

	arrow "github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
	"github.com/klauspost/compress/zstd"
	other "github.com/parquet-go/parquet-go"
	"github.com/pierrec/lz4/v4"
)

// row is a row with columns of all types.
type row struct {
	Text  string   `parquet:"text"`
	Some  *string  `parquet:"some,optional"`
	Few   string   `parquet:"few,dict"`
	Delta string   `parquet:"delta,delta"`
	N     int32    `parquet:"n,delta"`
	Big   int64    `parquet:"big"`
	Flag  bool     `parquet:"flag"`
	X     float64  `parquet:"x"`
	Y     float32  `parquet:"y"`
	List  []string `parquet:"list,list"`
	Fixed [5]byte  `parquet:"fixed"`
}

func randomRows(seed uint64, n int) (rows []row) {
	r := rand.New(rand.NewPCG(seed, 3))
	text := func() string {
		return strings.Repeat(fmt.Sprint("word", r.IntN(5), " 字"), r.IntN(40)*r.IntN(40)/(1+r.IntN(30)))
	}
	for i := range n {
		x := row{Text: text(), Few: fmt.Sprint("v", r.IntN(7)), Delta: fmt.Sprint("prefix", i, text()), N: int32(r.Uint32()), Big: int64(r.Uint64()), Flag: r.IntN(3) == 0, X: r.NormFloat64(), Y: r.Float32()}
		if r.IntN(3) > 0 {
			s := text()
			x.Some = &s
		}
		for range r.IntN(4) {
			x.List = append(x.List, text())
		}
		copy(x.Fixed[:], fmt.Sprint(10_000+r.IntN(80_000)))
		rows = append(rows, x)
	}
	return rows
}

// TestForeign reads what another library writes, in all of its codecs, pages of both versions and small row groups, and compares each cell.
func TestForeign(t *testing.T) {
	t.Parallel()
	for name, codec := range map[string]other.WriterOption{"none": other.Compression(&other.Uncompressed), "snappy": other.Compression(&other.Snappy), "gzip": other.Compression(&other.Gzip), "brotli": other.Compression(&other.Brotli), "zstd": other.Compression(&other.Zstd), "lz4": other.Compression(&other.Lz4Raw)} {
		for _, version := range []int{1, 2} {
			for _, page := range []int{300, 100_000} {
				rows := randomRows(uint64(version+page), 700)
				var b bytes.Buffer
				w := other.NewGenericWriter[row](&b, codec, other.DataPageVersion(version), other.PageBufferSize(page), other.MaxRowsPerRowGroup(250))
				if _, err := w.Write(rows); err != nil {
					t.Fatal(err)
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				if err := compare(b.Bytes(), rows); err != nil {
					t.Fatalf("%s, version %d, pages of %d: %v", name, version, page, err)
				}
			}
		}
	}
}

// compare reads a file and compares it with what it should have.
func compare(b []byte, rows []row) error {
	f, err := Open(bytes.NewReader(b), int64(len(b)), 1<<26)
	if err != nil {
		return err
	}
	at := 0
	for g := range f.Groups() {
		group, err := f.Group(g, f.Columns())
		if err != nil {
			return err
		}
		defer group.Close()
		for err = group.Next(); err == nil; err = group.Next() {
			x := rows[at]
			at++
			got := map[string]string{}
			for i, c := range f.Schema().Columns() {
				for _, cell := range group.Row()[i] {
					if cell.Def == c.MaxDefinitionLevel() {
						got[c.Path()] += fmt.Sprintf("|%s %d", cell.Bytes, cell.Bits)
					}
				}
			}
			flag := uint64(0)
			if x.Flag {
				flag = 1
			}
			want := map[string]string{"text": "|" + x.Text + " 0", "few": "|" + x.Few + " 0", "delta": "|" + x.Delta + " 0", "n": fmt.Sprintf("| %d", uint64(int64(x.N))), "big": fmt.Sprintf("| %d", uint64(x.Big)),
				"flag": fmt.Sprintf("| %d", flag), "x": fmt.Sprintf("| %d", math.Float64bits(x.X)), "y": fmt.Sprintf("| %d", math.Float32bits(x.Y)), "fixed": fmt.Sprintf("|%s 0", x.Fixed[:])}
			if x.Some != nil {
				want["some"] = "|" + *x.Some + " 0"
			}
			for _, s := range x.List {
				want["list.list.element"] += "|" + s + " 0"
			}
			for name := range want {
				if got[name] != want[name] {
					return fmt.Errorf("row %d, %s is %.80q instead of %.80q", at, name, got[name], want[name])
				}
			}
		}
		if err != io.EOF {
			return err
		}
	}
	if at != len(rows) {
		return fmt.Errorf("%d rows instead of %d", at, len(rows))
	}
	return nil
}

// written writes texts with arrow-go.
func written(t testing.TB, texts []string, options ...arrow.WriterProperty) []byte {
	t.Helper()
	n, err := schema.NewPrimitiveNodeLogical("text", arrow.Repetitions.Required, schema.StringLogicalType{}, arrow.Types.ByteArray, -1, -1)
	if err != nil {
		t.Fatal(err)
	}
	root, err := schema.NewGroupNode("r", arrow.Repetitions.Required, schema.FieldList{n}, -1)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := file.NewParquetWriter(&b, root, file.WithWriterProps(arrow.NewWriterProperties(options...)))
	g, err := w.AppendBufferedRowGroupChecked()
	if err != nil {
		t.Fatal(err)
	}
	c, err := g.Column(0)
	if err != nil {
		t.Fatal(err)
	}
	var values []arrow.ByteArray
	for _, s := range texts {
		if s == "" {
			values = append(values, nil)
			continue
		}
		values = append(values, []byte(s))
	}
	if _, err := c.(*file.ByteArrayColumnChunkWriter).WriteBatch(values, nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// readAll reads the texts of a file.
func readAll(b []byte, room int64) (texts []string, err error) {
	f, err := Open(bytes.NewReader(b), int64(len(b)), room)
	if err != nil {
		return nil, err
	}
	for g := range f.Groups() {
		group, err := f.Group(g, f.Columns())
		if err != nil {
			return nil, err
		}
		defer group.Close()
		for err = group.Next(); err == nil; err = group.Next() {
			for _, c := range group.Cells(0) {
				texts = append(texts, string(c.Bytes))
			}
		}
		if err != io.EOF {
			return texts, err
		}
	}
	return texts, nil
}

// TestNet: texts that are not those which the footer describes are an error, as they would be if a decoder lost them.
func TestNet(t *testing.T) {
	plain := []arrow.WriterProperty{arrow.WithCreatedBy("a test"), arrow.WithDictionaryDefault(false), arrow.WithCompression(compress.Codecs.Uncompressed)}
	b := written(t, []string{"bbb", "ccc", "ddd"}, plain...)
	if got, err := readAll(b, 1<<20); err != nil || strings.Join(got, " ") != "bbb ccc ddd" {
		t.Fatalf("%q, %v", got, err)
	}
	for what, change := range map[string][2]string{"below the minimum": {"ccc", "aaa"}, "above the maximum": {"ccc", "zzz"}} {
		if _, err := readAll(bytes.Replace(b, []byte(change[0]), []byte(change[1]), 1), 1<<20); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	short := bytes.Replace(b, []byte("\x03\x00\x00\x00ddd"), []byte("\x00\x00\x00\x00\x00\x00\x00"), 1) // a text is lost
	if _, err := readAll(short, 1<<20); err == nil {
		t.Error("a lost text was accepted")
	}
	// The library that writes here leaves empty texts out of the least value.
	if got, err := readAll(written(t, []string{"", "ccc", ""}), 1<<20); err != nil || len(got) != 3 || got[0] != "" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestRoom: pages and dictionaries beyond the room are an error that says so.
func TestRoom(t *testing.T) {
	large := []string{strings.Repeat("a", 3<<20)}
	for name, b := range map[string][]byte{
		"page":       written(t, large, arrow.WithDictionaryDefault(false), arrow.WithCompression(compress.Codecs.Zstd), arrow.WithStats(false)),
		"dictionary": written(t, large, arrow.WithCompression(compress.Codecs.Zstd), arrow.WithStats(false), arrow.WithDictionaryPageSizeLimit(1<<30)),
	} {
		if got, err := readAll(b, 1<<24); err != nil || len(got) != 1 || got[0] != large[0] {
			t.Errorf("%s: %d texts, %v", name, len(got), err)
		}
		if _, err := readAll(b, 1<<20); err == nil || !errors.Is(err, ErrMemory) && !strings.Contains(err.Error(), "limit") {
			t.Errorf("%s beyond the room: %v", name, err)
		}
	}
}

// TestOneBound: a column chunk whose footer names only the least value, or only the greatest.
func TestOneBound(t *testing.T) {
	b := written(t, []string{"bbb", "ccc", "ddd"}, arrow.WithDictionaryDefault(false), arrow.WithCompression(compress.Codecs.Uncompressed))
	for _, x := range []struct {
		name, text, wrong string
		isMin             bool
	}{{"least", "aaa", "below the minimum", true}, {"greatest", "zzz", "above the maximum", false}} {
		for _, text := range []string{"ccc", x.text} {
			damaged := bytes.Replace(b, []byte("ccc"), []byte(text), 1)
			f, err := Open(bytes.NewReader(damaged), int64(len(b)), 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			stats := f.from.MetaData().RowGroups[0].Columns[0].MetaData.Statistics
			if stats.Min, stats.Max = nil, nil; x.isMin {
				stats.MaxValue = nil
			} else {
				stats.MinValue = nil
			}
			group, err := f.Group(0, f.Columns())
			if err != nil {
				t.Fatal(err)
			}
			for err = group.Next(); err == nil; err = group.Next() {
			}
			if isWrong := text != "ccc"; isWrong && !strings.Contains(err.Error(), x.wrong) || !isWrong && err != io.EOF {
				t.Errorf("only the %s, with %q: %v", x.name, text, err)
			}
			group.Close()
		}
	}
}

// TestLongList: a row whose list is in many pages is read in time, and counts as long as it is the row.
func TestLongList(t *testing.T) {
	type row struct {
		List []string `parquet:"list,list"`
	}
	var b bytes.Buffer
	w := other.NewGenericWriter[row](&b, other.PageBufferSize(1000))
	list := make([]string, 100_000)
	for i := range list {
		list[i] = fmt.Sprint("element ", i)
	}
	if _, err := w.Write([]row{{list}, {list[:1]}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	texts, err := readAll(b.Bytes(), 1<<24)
	if err != nil || len(texts) != len(list)+1 || texts[77_777] != list[77_777] || texts[len(list)] != list[0] {
		t.Errorf("%d texts, %v", len(texts), err)
	}
	if _, err := readAll(b.Bytes(), 1<<22); !errors.Is(err, ErrMemory) {
		t.Errorf("beyond the room: %v", err)
	}
}

// TestGivenBack: whatever is wrong with a file, nothing that it took stays counted.
func TestGivenBack(t *testing.T) {
	empty := written(t, make([]string, 300_000), arrow.WithDictionaryDefault(false), arrow.WithStats(false))
	for name, b := range map[string][]byte{"whole": seeds(t)[3], "pages": empty, "cut": append(bytes.Clone(seeds(t)[3][:4]), seeds(t)[3][4:]...)} {
		if name == "cut" {
			clear(b[10:200])
		}
		for _, room := range []int64{1 << 10, 1 << 16, 1 << 24} {
			f, err := Open(bytes.NewReader(b), int64(len(b)), room)
			if err != nil {
				continue
			}
			group, err := f.Group(0, f.Columns())
			if err == nil {
				for err = group.Next(); err == nil; err = group.Next() {
				}
				group.Close()
			}
			if live := f.mem.live.Load(); live != 0 {
				t.Errorf("%s, room for %d: %d bytes stay counted (%v)", name, room, live, err)
			}
		}
	}
}

// TestZstd: a stream that ends early leaves nothing behind, frames follow each other, and a claim about the size is not believed.
func TestZstd(t *testing.T) {
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	text := []byte(strings.Repeat("one and two and three. ", 400))
	packed := z.EncodeAll(text, nil)
	var stream bytes.Buffer // which has no size in its header
	w, err := zstd.NewWriter(&stream)
	if err != nil {
		t.Fatal(err)
	}
	w.Write(text[:5000])
	w.Flush()
	w.Write(text[5000:])
	w.Close()
	got := make([]byte, len(text))
	for range 50 {
		for _, packed := range [][]byte{packed, stream.Bytes()} {
			if decodeZstd(got, packed[:len(packed)/2]) == nil || decodeZstd(got[:len(got)-1], packed) == nil || decodeZstd(make([]byte, len(text)+1), packed) == nil {
				t.Fatal("a stream of another size was accepted")
			}
			if err := decodeZstd(got, packed); err != nil || !bytes.Equal(got, text) {
				t.Fatal(err)
			}
		}
	}
	two := z.EncodeAll(text[5000:], z.EncodeAll(text[:5000], nil))
	if clear(got); decodeZstd(got, two) != nil || !bytes.Equal(got, text) {
		t.Error("two frames")
	}
	large := z.EncodeAll(make([]byte, 1<<26), z.EncodeAll(text[:5000], nil)) // the second frame is beyond what the page has
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if decodeZstd(got, large) == nil {
		t.Error("a frame that is too large was accepted")
	}
	if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 1<<24 {
		t.Errorf("a frame that is too large took %d bytes", after.TotalAlloc-before.TotalAlloc)
	}
}

// TestHadoop: LZ4 as Hadoop frames it, in one block and in several, as a frame, and as a block alone.
func TestHadoop(t *testing.T) {
	text := []byte(strings.Repeat("one and two and three. ", 400))
	block := func(part []byte) []byte {
		b := make([]byte, lz4.CompressBlockBound(len(part)))
		n, err := lz4.CompressBlock(part, b, nil)
		if err != nil {
			t.Fatal(err)
		}
		return b[:n]
	}
	framed := func(parts ...[]byte) (all []byte) {
		for _, part := range parts {
			packed := block(part)
			all = binary.BigEndian.AppendUint32(all, uint32(len(part)))
			all = binary.BigEndian.AppendUint32(all, uint32(len(packed)))
			all = append(all, packed...)
		}
		return all
	}
	var frame bytes.Buffer
	w := lz4.NewWriter(&frame)
	w.Write(text)
	w.Close()
	for name, packed := range map[string][]byte{"one": framed(text), "several": framed(text[:1000], text[1000:5000], text[5000:]), "frame": frame.Bytes(), "alone": block(text)} {
		got := make([]byte, len(text))
		if err := decodeHadoopLZ4(got, packed); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s: %v", name, err)
		}
		if err := decodeHadoopLZ4(make([]byte, len(text)+1), packed); err == nil {
			t.Errorf("%s: a size that is too large was accepted", name)
		}
	}
}

// TestDelta: the encodings that are decoded here, at the borders of blocks and with all widths.
func TestDelta(t *testing.T) {
	for _, n := range []int{0, 1, 31, 32, 33, 127, 128, 129, 1000} {
		for seed := range uint64(20) {
			r := rand.New(rand.NewPCG(seed, uint64(n)))
			want := make([]int64, n)
			for i := range want {
				want[i] = int64(r.Uint64() >> r.IntN(64))
				if r.IntN(2) == 0 {
					want[i] = -want[i]
				}
			}
			reader, err := newDeltaReader(deltaPacked(want))
			if err != nil {
				t.Fatal(err)
			}
			var got []int64
			if err := reader.all(func(x int64) { got = append(got, x) }); err != nil || fmt.Sprint(got) != fmt.Sprint(want) && n > 0 {
				t.Fatalf("%d values, seed %d: %v, %v instead of %v", n, seed, err, got, want)
			}
		}
	}
}

// deltaPacked writes integers as Encodings.md of Parquet says, with blocks of 128 in 4 parts.
func deltaPacked(values []int64) []byte {
	b := binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(nil, 128), 4), uint64(len(values)))
	if len(values) == 0 {
		return binary.AppendVarint(b, 0)
	}
	b = binary.AppendVarint(b, values[0])
	for from := 1; from < len(values); from += 128 {
		deltas := make([]int64, 0, 128)
		least := int64(math.MaxInt64)
		for i := from; i < min(len(values), from+128); i++ {
			deltas = append(deltas, values[i]-values[i-1])
			least = min(least, deltas[len(deltas)-1])
		}
		b = binary.AppendVarint(b, least)
		widths := len(b)
		b = append(b, 0, 0, 0, 0)
		for part := 0; part*32 < len(deltas); part++ {
			packed := make([]byte, 32*64/8)
			b[widths+part] = 64
			for i, d := range deltas[part*32 : min(len(deltas), part*32+32)] {
				binary.LittleEndian.PutUint64(packed[i*8:], uint64(d-least))
			}
			b = append(b, packed...)
		}
	}
	return b
}

// seeds are small files of several writers.
func seeds(t testing.TB) (all [][]byte) {
	b, err := os.ReadFile("../testdata/formats/types.parquet")
	if err != nil {
		t.Fatal(err)
	}
	all = append(all, b, written(t, []string{"a", "b", strings.Repeat("c", 300)}, arrow.WithCompression(compress.Codecs.Snappy), arrow.WithDataPageVersion(arrow.DataPageV2)),
		written(t, []string{"a", "b", "a"}, arrow.WithCompression(compress.Codecs.Lz4Raw)))
	for _, version := range []int{1, 2} {
		var b bytes.Buffer
		w := other.NewGenericWriter[row](&b, other.Compression(&other.Zstd), other.DataPageVersion(version))
		if _, err := w.Write(randomRows(1, 5)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		all = append(all, b.Bytes())
	}
	return all
}

// readAny reads any bytes as a file. There must be no panic, and no error that is the text of one.
func readAny(t *testing.T, b []byte) {
	t.Helper()
	check := func(err error) {
		if err != nil && strings.Contains(err.Error(), "runtime error") {
			t.Fatal(err)
		}
	}
	file, err := Open(bytes.NewReader(b), int64(len(b)), 1<<22)
	if check(err); err != nil {
		return
	}
	for g := range min(file.Groups(), 10) {
		group, err := file.Group(g, file.Columns())
		if check(err); err != nil {
			continue
		}
		for n := 0; n < 1000 && err == nil; n++ {
			if err = group.Next(); err == nil {
				group.Row()
			}
		}
		check(err)
		group.Close()
	}
}

// TestDamaged flips and cuts bytes of files of several writers.
func TestDamaged(t *testing.T) {
	t.Parallel()
	for n, b := range seeds(t) {
		r := rand.New(rand.NewPCG(uint64(n), 7))
		for range 1500 {
			damaged := bytes.Clone(b)
			for range 1 + r.IntN(3) {
				damaged[r.IntN(len(damaged))] = byte(r.Uint32())
			}
			readAny(t, damaged)
		}
		for cut := 0; cut < len(b); cut += 1 + len(b)/200 {
			readAny(t, b[:cut])
		}
	}
}

// FuzzOpen is TestDamaged for any bytes.
func FuzzOpen(f *testing.F) {
	for _, b := range seeds(f) {
		f.Add(b)
	}
	f.Fuzz(readAny)
}

// TestSameBytes: the same rows give the same file, also with pages of several encodings, which the library counts in a map.
func TestSameBytes(t *testing.T) {
	text, err := schema.NewPrimitiveNode("text", arrow.Repetitions.Required, arrow.Types.ByteArray, -1, -1)
	if err != nil {
		t.Fatal(err)
	}
	root, err := schema.NewGroupNode("rows", arrow.Repetitions.Required, schema.FieldList{text}, -1)
	if err != nil {
		t.Fatal(err)
	}
	var first []byte
	for n := range 12 {
		var b bytes.Buffer
		w, err := NewWriter(&b, root, compress.Codecs.Snappy, map[string]string{"a": "1", "b": "2", "c": "3"})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 40_000 { // more than fit into a dictionary
			if err := w.Write([][]Cell{{{Bytes: fmt.Appendf(nil, "%040d", i)}}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = b.Bytes()
		}
		if !bytes.Equal(b.Bytes(), first) {
			t.Fatalf("file %d differs from the first one", n)
		}
	}
	f, err := Open(bytes.NewReader(first), int64(len(first)), 1<<30)
	if err != nil || f.Rows(0) != 40_000 {
		t.Errorf("it is read: %v", err)
	}
}
