package records

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math/big"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/neardup/neardup"
)

type address struct {
	City string `neardup:"city,words,named"`
	Zip  int
}

type person struct {
	Name    string    `neardup:"name,chars2"`
	Born    time.Time `neardup:",date,weight=3"`
	Notes   *string   `neardup:"notes,large"`
	ID      int       `neardup:"-"`
	Phone   sql.NullString
	IP      netip.Addr
	Score   float64 `neardup:"score,number"`
	Raw     []byte  `neardup:"raw"`
	private int
	address
	*more
}

type more struct{ Extra bool }

// TestStructs: fields by tags and records by values.
func TestStructs(t *testing.T) {
	fields, err := Fields[person]()
	if err != nil {
		t.Fatal(err)
	}
	want := []neardup.Field{{Name: "name", Split: neardup.NGrams{N: 2}}, {Name: "Born", Form: neardup.DateValue, Weight: 3}, {Name: "notes", Large: true}, {Name: "Phone"}, {Name: "IP"}, {Name: "score", Form: neardup.NumberValue}, {Name: "raw"},
		{Name: "city", Split: neardup.Words{}, Named: true}, {Name: "Zip"}, {Name: "Extra"}}
	if !reflect.DeepEqual(fields, want) {
		t.Errorf("%+v, want %+v", fields, want)
	}
	notes := "some notes"
	p := person{Name: "Ann", Born: time.Date(1956, 4, 9, 0, 0, 0, 0, time.UTC), Notes: &notes, ID: 7, Phone: sql.NullString{String: "123", Valid: true}, IP: netip.MustParseAddr("10.0.0.1"), Score: 1e21, Raw: []byte("x"), private: 1, address: address{City: "Canton", Zip: 510}}
	rec, err := Of(&p)
	if want := (neardup.Record{"name": "Ann", "Born": "1956-04-09", "notes": "some notes", "Phone": "123", "IP": "10.0.0.1", "score": "1000000000000000000000", "raw": "x", "city": "Canton", "Zip": "510"}); err != nil || !maps.Equal(rec, want) {
		t.Errorf("%v, %v, want %v", rec, err, want)
	}
	p.Notes, p.Phone.Valid, p.Raw, p.more = nil, false, nil, &more{true}
	p.Born = time.Date(1956, 4, 9, 12, 0, 0, 0, time.UTC)
	rec, err = Of(p)
	if want := (neardup.Record{"name": "Ann", "Born": "1956-04-09T12:00:00Z", "IP": "10.0.0.1", "score": "1000000000000000000000", "city": "Canton", "Zip": "510", "Extra": "true"}); err != nil || !maps.Equal(rec, want) {
		t.Errorf("%v, %v, want %v", rec, err, want)
	}
	for _, v := range []any{nil, 1, "x", (*person)(nil), []person{}, struct{ C chan int }{make(chan int)}, struct{ M map[string]int }{map[string]int{}}} {
		if rec, err := Of(v); err == nil {
			t.Errorf("%T: %v", v, rec)
		}
	}
	type Base struct {
		ID   int
		When time.Time
	}
	type hidden struct {
		Base     `neardup:"-"`
		*url.URL `neardup:"URL"`
		Name     string
		N        *big.Int
		Color    color
		Any      any
		At       **int
		Bytes    json.RawMessage
	}
	if fields, err := Fields[hidden](); err != nil || len(fields) != 7 || fields[0].Name != "URL" || fields[3].Name != "Color" {
		t.Errorf("%+v, %v", fields, err)
	}
	seven := 7
	at := &seven
	rec, err = Of(hidden{Base: Base{ID: 1}, URL: &url.URL{Scheme: "https", Host: "x"}, Name: "n", N: big.NewInt(12), Color: 2, Any: int8(3), At: &at, Bytes: json.RawMessage("{}")})
	if want := (neardup.Record{"URL": "https://x", "Name": "n", "N": "12", "Color": "green", "Any": "3", "At": "7", "Bytes": "{}"}); err != nil || !maps.Equal(rec, want) {
		t.Errorf("%v, %v, want %v", rec, err, want)
	}
	if rec, err := Of(struct{ Base }{Base{ID: 1}}); err != nil || !maps.Equal(rec, neardup.Record{"ID": "1"}) { // no time is no value
		t.Error(rec, err)
	}
	if rec, err := Of(struct {
		named
		Age int
	}{named{"Ann", "Canton"}, 3}); err != nil || !maps.Equal(rec, neardup.Record{"Name": "Ann", "City": "Canton", "Age": "3"}) {
		t.Error(rec, err)
	}
	var loop any
	loop = &loop
	for _, v := range []any{struct{ V selfish }{}, struct{ A any }{loop}, struct{ P endless }{}} {
		if rec, err := Of(v); err == nil && len(rec) > 0 {
			t.Errorf("%T: %v", v, rec)
		}
	}
	_, err4 := Fields[struct {
		A, B string `neardup:"x"`
	}]()
	_, err5 := Fields[struct{ A *[]string }]()
	_, err6 := Of(struct{ A any }{[]int{1}})
	_, err1 := Fields[int]()
	_, err2 := Fields[struct {
		A string `neardup:"a,colour"`
	}]()
	_, err3 := Fields[struct{ C chan int }]()
	for _, err := range []error{err1, err2, err3, err4, err5, err6} {
		if err == nil || !strings.HasPrefix(err.Error(), "records: ") {
			t.Error(err)
		}
	}
}

// TestParseField: options, and errors that name the field.
func TestParseField(t *testing.T) {
	for options, want := range map[string]neardup.Field{
		"": {}, "small,whole,text": {}, "large": {Large: true}, " words2 , named ": {Split: neardup.Shingles{N: 2}, Named: true},
		"chars3,weight=2.5": {Split: neardup.NGrams{N: 3}, Weight: 2.5}, "phone=86": {Form: neardup.PhoneValue, Country: "86"}, "phone": {Form: neardup.PhoneValue}, "mdy": {Form: neardup.MonthFirstValue}, "exact": {Form: neardup.ExactValue}, "words": {Split: neardup.Words{}},
	} {
		want.Name = "f"
		if got, err := ParseField("f", options); err != nil || got != want {
			t.Errorf("%q: %+v, %v", options, got, err)
		}
	}
	for _, options := range []string{"colour", "weight", "weight=", "weight=0", "weight=-1", "weight=NaN", "weight=1e9", "phone=", "phone=+86", "chars", "chars0", "words99999", "chars-1", "named=1", "words=2", "date=x", "-", "large2", "3", "weight=1=2", "date,text", "large,small", "words,chars2", "weight=1,weight=2", "phone=1,phone=2"} {
		if f, err := ParseField("the name", options); err == nil || !strings.Contains(err.Error(), `"the name"`) {
			t.Errorf("%q: %+v, %v", options, f, err)
		}
	}
}

// TestRecordErrors: a value that cannot write itself does not go unnoticed.
func TestRecordErrors(t *testing.T) {
	if _, err := Of(struct{ A failing }{}); err == nil || !errors.Is(err, errFailing) {
		t.Error(err)
	}
}

// A color fails where it has no name, as zero.
type color int

func (c color) String() string { return []string{"red", "green"}[c-1] }

type named struct{ Name, City string }

func (n named) String() string { return n.Name }

// A selfish value is its own.
type selfish struct{}

func (s selfish) Value() (driver.Value, error) { return s, nil }

type endless *endless

type failing struct{}

var errFailing = errors.New("cannot be written")

func (failing) MarshalText() ([]byte, error) { return nil, errFailing }

// fakeRows is a driver whose only query returns the rows that its name says.
type fakeRows struct {
	names []string
	rows  [][]driver.Value
}

func (f *fakeRows) Connect(context.Context) (driver.Conn, error) { return f, nil }

func (f *fakeRows) Driver() driver.Driver { return nil }

func (f *fakeRows) Prepare(string) (driver.Stmt, error) { return f, nil }

func (f *fakeRows) Begin() (driver.Tx, error) { return nil, errFailing }

func (f *fakeRows) Close() error { return nil }

func (f *fakeRows) NumInput() int { return 0 }

func (f *fakeRows) Exec([]driver.Value) (driver.Result, error) { return nil, errFailing }

func (f *fakeRows) Query([]driver.Value) (driver.Rows, error) { return f, nil }

func (f *fakeRows) Columns() []string { return f.names }

func (f *fakeRows) Next(dest []driver.Value) error {
	if len(f.rows) == 0 {
		return io.EOF
	}
	copy(dest, f.rows[0])
	f.rows = f.rows[1:]
	return nil
}

// TestScanRecord: values of all types that drivers give.
func TestScanRecord(t *testing.T) {
	day := time.Date(2014, 5, 6, 0, 0, 0, 0, time.UTC)
	db := sql.OpenDB(&fakeRows{[]string{"a", "b", "c", "d", "e", "f"}, [][]driver.Value{
		{"text", []byte("bytes"), int64(-7), 1.5, true, day}, {nil, nil, nil, nil, nil, nil}, {"", []byte{}, int64(0), 0.0, false, time.Time{}},
	}})
	rows, err := db.Query("")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for i, want := range []neardup.Record{
		{"a": "text", "b": "bytes", "c": "-7", "d": "1.5", "e": "true", "f": "2014-05-06"}, {}, {"a": "", "b": "", "c": "0", "d": "0", "e": "false"},
	} {
		if !rows.Next() {
			t.Fatal(rows.Err())
		}
		if rec, err := Scan(rows); err != nil || !maps.Equal(rec, want) {
			t.Errorf("row %d: %v, %v, want %v", i, rec, err, want)
		}
	}
	for _, row := range [][]driver.Value{{nil, "v"}, {"v", nil}, {"v", "w"}} {
		rows, err := sql.OpenDB(&fakeRows{[]string{"x", "x"}, [][]driver.Value{row}}).Query("")
		if err != nil {
			t.Fatal(err)
		}
		rows.Next()
		if rec, err := Scan(rows); err == nil {
			t.Errorf("two columns of one name: %v", rec)
		}
		rows.Close()
	}
}

type Deepest struct{ X, Y string }

type deeper struct{ Deepest }

type deep struct{ deeper }

type outer struct{ deep }

// TestDeeplyEmbedded: fields of a struct that is embedded three times over keep their own values.
func TestDeeplyEmbedded(t *testing.T) {
	got, err := Of(outer{deep{deeper{Deepest{"x", "y"}}}})
	if want := (neardup.Record{"X": "x", "Y": "y"}); err != nil || !maps.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

// TestUintptr: a uintptr is a place in memory, not a value.
func TestUintptr(t *testing.T) {
	if fields, err := Fields[struct{ P uintptr }](); err == nil {
		t.Errorf("got %v, want an error", fields)
	}
}
