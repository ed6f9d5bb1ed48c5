package neardup

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
	"unicode/utf8"

	"github.com/neardup/neardup/internal/s001"
	"github.com/neardup/neardup/internal/values"
)

// TestS003Row is the row of S003's example.
func TestS003Row(t *testing.T) {
	row := Record{"name": "张三", "district": "天河区", "date": "2014-05-06", "text": "投诉 噪音 施工 投诉 施工 施工"}
	changed := maps.Clone(row)
	changed["name"] = "李四"
	shorter := maps.Clone(row)
	shorter["text"] = "投诉 噪音 施工 投诉 施工"
	for _, test := range []struct {
		rec       Record
		zero, one Fingerprint64
	}{
		{row, 0x2f42d351f7339e20, 0x2f43f351f7ff9e20},
		{changed, 0x2e42d315f7377630, 0x2e53f315ff377eb0},
		{shorter, 0x2f42d351f7739e20, 0x2f42d351f7739e20},
	} {
		for tie, want := range map[Tie]Fingerprint64{TieZero: test.zero, TieOne: test.one} {
			f := paper(tie)
			f.Fields = []Field{{Name: "name"}, {Name: "district"}, {Name: "date"}, {Name: "text", Role: LargeText}}
			if got := f.SumRecord64(test.rec); got != want {
				t.Errorf("%v, tie %d: %v, want %v", test.rec, tie, got, want)
			}
		}
	}
}

// naiveRecord sums up a record from the definition.
func naiveRecord(f *Fingerprinter, rec Record) (Fingerprint64, Fingerprint128, map[string]float64) {
	counts, fieldWeights := map[string]float64{}, map[string]int64{}
	weights := map[string]int64{}
	for _, field := range f.Fields {
		value := rec[field.Name]
		if field.Role == Ignored || value == "" {
			continue
		}
		weight := field.Weight
		if weight == 0 {
			weight = map[Role]float64{SmallText: 2, LargeText: 1}[field.Role]
		}
		if field.Role == LargeText {
			value = f.Normalizer.Normalize(value)
		}
		if field.Role == SmallText || field.Form != TextValue {
			value = field.Form.of(value, field.Country)
		}
		tokens := []string{value}
		split := field.Split
		if split == nil && field.Role == LargeText {
			split = f.tokenizer()
		}
		if split != nil {
			tokens = nil
			for t := range split.Tokens(value) {
				tokens = append(tokens, t.Text)
			}
		}
		for _, token := range tokens {
			if token == "" {
				continue
			}
			if field.Named {
				token = field.Name + "=" + token
			}
			counts[token]++
			fieldWeights[token] += Quantize(weight)
			w := 1.0
			if f.Weight != nil {
				w = f.Weight.Weigh(&Feature{Token: Token{Text: token}, Count: 1})
			}
			if weight == float64(int(weight)) {
				weights[token] += int64(weight) * Quantize(w)
			} else {
				weights[token] += Quantize(w * weight)
			}
		}
	}
	var a Accumulator64
	var b Accumulator128
	for token, n := range counts {
		w := weights[token]
		if f.Weight != nil && !isLinear(f.Weight) {
			w = Quantize(f.Weight.Weigh(&Feature{Token: Token{Text: token}, Count: n}) * (float64(fieldWeights[token]) / (1 << 20) / n))
		}
		a.Add(f.Hash.sum64()(token), w)
		hi, lo := f.Hash.sum128()(token)
		b.Add(hi, lo, w)
	}
	return a.Sum(f.Tie), b.Sum(f.Tie), counts
}

// TestRecords compares records with the definition.
func TestRecords(t *testing.T) {
	recs := []Record{
		nil, {}, {"other": "x"}, {"name": ""}, {"name": "。"},
		{"name": "Ann  Smith", "born": "6 May 2014", "phone": "+86 138-0013-8000", "price": "1,234.50", "text": "The cat. The <b>dog</b>!", "exact": " A "},
		{"name": "ann smith", "born": "2014-05-06", "phone": "13800138000", "price": "1234.5", "text": "the cat the dog", "exact": "a"},
		{"name": "张三", "born": "张三", "phone": "张三", "price": "张三", "text": "张三住房公积金", "exact": "张三"},
		{"text": strings.Repeat("many words of some kind ", 3000)},
	}
	fields := []Field{
		{Name: "name"}, {Name: "name", Split: NGrams{2}, Weight: 0.3}, {Name: "born", Form: DateValue, Named: true}, {Name: "phone", Form: PhoneValue, Country: "86", Weight: 3},
		{Name: "price", Form: NumberValue, Split: Words{}}, {Name: "text", Role: LargeText}, {Name: "text", Role: LargeText, Named: true, Split: Filter{}}, {Name: "exact", Form: ExactValue, Named: true}, {Name: "text", Role: Ignored},
	}
	f := Fingerprinter{Fields: fields, Normalizer: Normalizer{HTML: true}, Tokenizer: Words{}}
	stats := StatisticsBuilder{Fingerprinter: f}
	df := map[string]int{}
	for _, r := range recs {
		stats.AddRecord(r)
		_, _, features := naiveRecord(&f, r)
		for token := range features {
			df[token]++
		}
	}
	s := stats.Build()
	checkFrequencies(t, "records", s, len(recs), df)
	for name, w := range map[string]Weight{"nil": nil, "idf": Product{Count, IDF{s, true}}, "bare idf": IDF{s, true}, "log-idf": Product{LogCount, IDF{s, true}}, "log": Product{LogCount, IDF{s, false}}, "binary": Binary, "length": Product{Count, TermLength{}}} {
		f.Weight = w
		for _, hash := range []Hash{{}, {Sum64: s001.Hash64, Sum128: s001.Hash128}} {
			f.Hash = hash
			for _, r := range recs {
				want64, want128, counts := naiveRecord(&f, r)
				if got := f.SumRecord64(r); got != want64 {
					t.Errorf("%s, %.100v: %v, want %v", name, r, got, want64)
				}
				if got := f.SumRecord128(r); got != want128 {
					t.Errorf("%s, %.100v: %v, want %v", name, r, got, want128)
				}
				n := 0
				for feature := range f.RecordFeatures(r) {
					if feature.Count != counts[feature.Text] {
						t.Errorf("%s: %q counts %v, want %v", name, feature.Text, feature.Count, counts[feature.Text])
					}
					n++
				}
				if n != len(counts) {
					t.Errorf("%s: %d features, want %d", name, n, len(counts))
				}
			}
		}
	}
	f = Fingerprinter{Fields: fields, Tokenizer: Words{}}
	if f.SumRecord64(recs[1]) != 0 || f.SumRecord64(recs[3]) != 0 {
		t.Error("a record without features has a fingerprint")
	}
	vf, err := f.Version()
	if err != nil || !strings.Contains(vf, " fields=") {
		t.Error(vf, err)
	}
	g := f
	seen := map[string]int{vf: -1}
	for i := range fields {
		for j, change := range []func(*Field){func(f *Field) { f.Name += "x" }, func(f *Field) { f.Weight += 7 }, func(f *Field) { f.Named = !f.Named }, func(f *Field) { f.Split = NGrams{9} }, func(f *Field) { f.Form = (f.Form + 1) % 6 }, func(f *Field) { f.Role = (f.Role + 1) % 3 }} {
			g.Fields = append([]Field(nil), fields...)
			if change(&g.Fields[i]); fields[i].Role == Ignored && j != 5 {
				continue
			}
			v, err := g.Version()
			if err != nil {
				t.Fatal(err)
			}
			if other, ok := seen[v]; ok {
				t.Errorf("change %d of field %d has the version of %d", j, i, other)
			}
			seen[v] = 10*i + j
		}
	}
	g.Fields = []Field{{Name: "x", Split: &Segmenter{}}}
	if v, err := g.Version(); err == nil {
		t.Error("a Segmenter without a dictionary has version", v)
	}
	g.Fields = []Field{{Name: "x", Split: noThe{}}}
	if v, err := g.Version(); err == nil {
		t.Error("a splitter of one's own has version", v)
	}
}

// TestValues is a table of what is written how.
func TestValues(t *testing.T) {
	for form, rows := range map[ValueForm]string{
		TextValue: "Ann  Smith=ann smith| Ａ\u3000Ｂ =a b|ﬁx=fix||。=。|２０１４=2014",
		NumberValue: "1=1|007=7|+5=5|-5=-5|−5=-5|0=0|-0=0|-0.50=-0.5|1,234=1234|1,234,567=1234567|1.234=1.234|1.234,50=1234.5|1,234.50=1234.5|1.234.567=1234567|" +
			"1 234 567=1234567|1'234=1234|1’234=1234|12,5=12.5|0,125=0.125|1234,567=1234.567|.5=0.5|5.=5|1e3=1000|1.5e-3=0.0015|1E+2=100|12e0=12|１２３=123|0.000=0|" +
			"abc=abc|1a=1a|=|-=-|.=.|,=,|1,23,456=1,23,456|10.0.0.1=10.0.0.1|e5=e5|1e=1e|1e+=1e+|1e999=1e999|--5=--5|1,2345,678=1,2345,678|12 34=12 34|1.2.3=1.2.3|1,234,=1,234,|00,123=0.123|1e-+5=1e-+5|0x10=0x10|1e-05=0.00001|9e99=9" + strings.Repeat("0", 99),
		DateValue: "2014-05-06=2014-05-06|2014-5-6=2014-05-06|20140506=2014-05-06|2014/05/06=2014-05-06|2014.5.6=2014-05-06|2014年5月6日=2014-05-06|2014年05月06号=2014-05-06|6.5.2014=2014-05-06|06/05/2014=2014-05-06|" +
			"05/16/2014=2014-05-16|16/05/2014=2014-05-16|6 May 2014=2014-05-06|6-May-2014=2014-05-06|May 6, 2014=2014-05-06|may 6th, 2014=2014-05-06|6th May 2014=2014-05-06|Sept 1, 2020=2020-09-01|September 1 2020=2020-09-01|2014 May 6=2014-05-06|" +
			"2014-05-06 13:45:00=2014-05-06|2014-05-06T13:45:00Z=2014-05-06|２０１４年５月６日=2014-05-06|2016-02-29=2016-02-29|2015-02-29=2015-02-29|20150229=20150229|2015/2/29=2015/2/29|31.4.2014=31.4.2014|13/13/2014=13/13/2014|19561301=19561301|" +
			"0000-01-01=0000-01-01|2014-05=2014-05|6/5/14=6/5/14|May=may|hello=hello|2014-05-06x=2014-05-06x|2014-05-06 apples=2014-05-06 apples|2014-05-06-07=2014-05-06-07|20140506123=20140506123|1 2 3 4=1 2 3 4|may may 2014=may may 2014|2014-05-06 0001=2014-05-06 0001|2014-05-06 12 boxes=2014-05-06 12 boxes|1999-12-31t5abc=1999-12-31t5abc|2014-0005-06=2014-0005-06|2014年5月6日12:30=2014-05-06|2014.05.06.=2014-05-06|2014-05-06z=2014-05-06|6 may 2014 1:45 pm=2014-05-06|2014-05-06t13:45:00.123+08:00=2014-05-06|2014年5月6日 12时30分=2014-05-06",
		MonthFirstValue: "06/05/2014=2014-06-05|16/05/2014=2014-05-16|05/16/2014=2014-05-16|2014-05-06=2014-05-06|6 May 2014=2014-05-06",
		PhoneValue:      "138-0013-8000=13800138000|+86 138 0013 8000=13800138000|0086 13800138000=13800138000|(020) 8765 4321=2087654321|020-87654321=2087654321|+86-20-87654321=2087654321|020-87654321转123=2087654321|020-87654321 ext 5=2087654321|12345=12345|1234=1234|none=none|a 12345=a 12345|+86(0)20 8765 4321=2087654321|=|+49 30 123456=+4930123456|04930 123456=4930123456|10115 berlin=10115 berlin|(+86) 10 12345678=1012345678|010–12345678=1012345678|1234567 x12=1234567|1234567 x=1234567 x",
		ExactValue:      " A =&A |x=x",
	} {
		for row := range strings.SplitSeq(rows, "|") {
			in, want, _ := strings.Cut(row, "=")
			if form == ExactValue {
				want = in
			}
			if got := form.of(in, "86"); got != want {
				t.Errorf("form %d of %q: %q, want %q", form, in, got, want)
			}
		}
	}
	if got := NumberValue.of(" 1０²", ""); got != "10²" {
		t.Error(got)
	}
	for in, want := range map[string]string{"1-212-555-1234": "2125551234", "+1 212 555 1234": "2125551234", "212 555 1234": "2125551234", "011 44 20 7946 0958": "+442079460958"} {
		if got := PhoneValue.of(in, "1"); got != want {
			t.Errorf("%q in America: %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{"+49 (0)30 123456": "+4930123456", "030 123456": "030123456", "0049 30 123456": "+4930123456"} {
		if got := PhoneValue.of(in, ""); got != want {
			t.Errorf("%q without a country: %q, want %q", in, got, want)
		}
	}
}

// FuzzValues: a value that is written is written so, and numbers are what they were.
func FuzzValues(f *testing.F) {
	for _, s := range []string{"1,234.50", "-0e5", "6 May 2014 13:45", "2014年5月6日", "+86 (0)20-8765", " Ａ\u3000b", "1.5e-30", "May 6th, 2014", "\xff1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for form := range PhoneValue {
			once := form.of(s, "")
			if again := form.of(once, ""); again != once {
				t.Errorf("form %d of %q: %q, and of that %q", form, s, once, again)
			}
			if utf8.ValidString(s) && !utf8.ValidString(once) {
				t.Errorf("form %d of %q is %q", form, s, once)
			}
		}
		PhoneValue.of(s, "86")
		if values.IsPlain(s) && strings.TrimSpace(values.TextForm.Apply(s)) != s {
			t.Errorf("%q is plain", s)
		}
		f := Fingerprinter{Fields: []Field{{Name: "a"}, {Name: "a", Split: NGrams{2}, Form: NumberValue}, {Name: "a", Role: LargeText, Form: DateValue, Named: true}}}
		want, _, _ := naiveRecord(&f, Record{"a": s})
		if got := f.SumRecord64(Record{"a": s}); got != want {
			t.Errorf("%q: %v, want %v", s, got, want)
		}
	})
}

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
	Raw     []byte  `neardup:"raw,-"`
	private int
	address
	*more
}

type more struct{ Extra bool }

// TestStructs: fields by tags and records by values.
func TestStructs(t *testing.T) {
	fields, err := FieldsOf[person]()
	if err != nil {
		t.Fatal(err)
	}
	want := []Field{{Name: "name", Split: NGrams{2}}, {Name: "Born", Form: DateValue, Weight: 3}, {Name: "notes", Role: LargeText}, {Name: "Phone"}, {Name: "IP"}, {Name: "score", Form: NumberValue}, {Name: "raw", Role: Ignored},
		{Name: "city", Split: Words{}, Named: true}, {Name: "Zip"}, {Name: "Extra"}}
	if !reflect.DeepEqual(fields, want) {
		t.Errorf("%+v, want %+v", fields, want)
	}
	notes := "some notes"
	p := person{Name: "Ann", Born: time.Date(1956, 4, 9, 0, 0, 0, 0, time.UTC), Notes: &notes, ID: 7, Phone: sql.NullString{String: "123", Valid: true}, IP: netip.MustParseAddr("10.0.0.1"), Score: 1e21, Raw: []byte("x"), private: 1, address: address{City: "Canton", Zip: 510}}
	rec, err := RecordOf(&p)
	if want := (Record{"name": "Ann", "Born": "1956-04-09", "notes": "some notes", "Phone": "123", "IP": "10.0.0.1", "score": "1000000000000000000000", "raw": "x", "city": "Canton", "Zip": "510"}); err != nil || !maps.Equal(rec, want) {
		t.Errorf("%v, %v, want %v", rec, err, want)
	}
	p.Notes, p.Phone.Valid, p.Raw, p.more = nil, false, nil, &more{true}
	p.Born = time.Date(1956, 4, 9, 12, 0, 0, 0, time.UTC)
	rec, err = RecordOf(p)
	if want := (Record{"name": "Ann", "Born": "1956-04-09T12:00:00Z", "IP": "10.0.0.1", "score": "1000000000000000000000", "city": "Canton", "Zip": "510", "Extra": "true"}); err != nil || !maps.Equal(rec, want) {
		t.Errorf("%v, %v, want %v", rec, err, want)
	}
	for _, v := range []any{nil, 1, "x", (*person)(nil), []person{}, struct{ C chan int }{make(chan int)}, struct{ M map[string]int }{map[string]int{}}} {
		if rec, err := RecordOf(v); err == nil {
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
	if fields, err := FieldsOf[hidden](); err != nil || len(fields) != 7 || fields[0].Name != "URL" || fields[3].Name != "Color" {
		t.Errorf("%+v, %v", fields, err)
	}
	seven := 7
	at := &seven
	rec, err = RecordOf(hidden{Base: Base{ID: 1}, URL: &url.URL{Scheme: "https", Host: "x"}, Name: "n", N: big.NewInt(12), Color: 2, Any: int8(3), At: &at, Bytes: json.RawMessage("{}")})
	if want := (Record{"URL": "https://x", "Name": "n", "N": "12", "Color": "green", "Any": "3", "At": "7", "Bytes": "{}"}); err != nil || !maps.Equal(rec, want) {
		t.Errorf("%v, %v, want %v", rec, err, want)
	}
	if rec, err := RecordOf(struct{ Base }{Base{ID: 1}}); err != nil || !maps.Equal(rec, Record{"ID": "1"}) { // no time is no value
		t.Error(rec, err)
	}
	if rec, err := RecordOf(struct {
		named
		Age int
	}{named{"Ann", "Canton"}, 3}); err != nil || !maps.Equal(rec, Record{"Name": "Ann", "City": "Canton", "Age": "3"}) {
		t.Error(rec, err)
	}
	var loop any
	loop = &loop
	for _, v := range []any{struct{ V selfish }{}, struct{ A any }{loop}, struct{ P endless }{}} {
		if rec, err := RecordOf(v); err == nil && len(rec) > 0 {
			t.Errorf("%T: %v", v, rec)
		}
	}
	_, err4 := FieldsOf[struct {
		A, B string `neardup:"x"`
	}]()
	_, err5 := FieldsOf[struct{ A *[]string }]()
	_, err6 := RecordOf(struct{ A any }{[]int{1}})
	_, err1 := FieldsOf[int]()
	_, err2 := FieldsOf[struct {
		A string `neardup:"a,colour"`
	}]()
	_, err3 := FieldsOf[struct{ C chan int }]()
	for _, err := range []error{err1, err2, err3, err4, err5, err6} {
		if err == nil || !strings.HasPrefix(err.Error(), "neardup: ") {
			t.Error(err)
		}
	}
}

// TestParseField: options, and errors that name the field.
func TestParseField(t *testing.T) {
	for options, want := range map[string]Field{
		"": {}, "small,whole,text": {}, "-,": {Role: Ignored}, "large": {Role: LargeText}, "-": {Role: Ignored}, " words2 , named ": {Split: Shingles{N: 2}, Named: true},
		"chars3,weight=2.5": {Split: NGrams{3}, Weight: 2.5}, "phone=86": {Form: PhoneValue, Country: "86"}, "phone": {Form: PhoneValue}, "mdy": {Form: MonthFirstValue}, "exact": {Form: ExactValue}, "words": {Split: Words{}},
	} {
		want.Name = "f"
		if got, err := ParseField("f", options); err != nil || got != want {
			t.Errorf("%q: %+v, %v", options, got, err)
		}
	}
	for _, options := range []string{"colour", "weight", "weight=", "weight=0", "weight=-1", "weight=NaN", "weight=1e9", "phone=", "phone=+86", "chars", "chars0", "words99999", "chars-1", "named=1", "words=2", "date=x", "large2", "3", "weight=1=2", "date,text", "large,small", "words,chars2", "weight=1,weight=2", "phone=1,phone=2"} {
		if f, err := ParseField("the name", options); err == nil || !strings.Contains(err.Error(), `"the name"`) {
			t.Errorf("%q: %+v, %v", options, f, err)
		}
	}
}

// TestRecordErrors: a value that cannot write itself does not go unnoticed.
func TestRecordErrors(t *testing.T) {
	if _, err := RecordOf(struct{ A failing }{}); err == nil || !errors.Is(err, errFailing) {
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
	for i, want := range []Record{
		{"a": "text", "b": "bytes", "c": "-7", "d": "1.5", "e": "true", "f": "2014-05-06"}, {}, {"a": "", "b": "", "c": "0", "d": "0", "e": "false"},
	} {
		if !rows.Next() {
			t.Fatal(rows.Err())
		}
		if rec, err := ScanRecord(rows); err != nil || !maps.Equal(rec, want) {
			t.Errorf("row %d: %v, %v, want %v", i, rec, err, want)
		}
	}
	for _, row := range [][]driver.Value{{nil, "v"}, {"v", nil}, {"v", "w"}} {
		rows, err := sql.OpenDB(&fakeRows{[]string{"x", "x"}, [][]driver.Value{row}}).Query("")
		if err != nil {
			t.Fatal(err)
		}
		rows.Next()
		if rec, err := ScanRecord(rows); err == nil {
			t.Errorf("two columns of one name: %v", rec)
		}
		rows.Close()
	}
}
