package neardup

import (
	"maps"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/neardup/neardup/internal/exact"
	"github.com/neardup/neardup/internal/june2013"
	"github.com/neardup/neardup/internal/values"
)

// TestLi2015Row checks the row that is the example of Li 2015.
func TestLi2015Row(t *testing.T) {
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
		for tie, want := range map[bool]Fingerprint64{tieZero: test.zero, tieOne: test.one} {
			f := paper(tie)
			f.Fields = []Field{{Name: "name"}, {Name: "district"}, {Name: "date"}, {Name: "text", Large: true}}
			if got := f.Sum64(test.rec); got != want {
				t.Errorf("%v, tie %t: %v, want %v", test.rec, tie, got, want)
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
		if value == "" {
			continue
		}
		weight := field.Weight
		if weight == 0 {
			if weight = 2; field.Large {
				weight = 1
			}
		}
		if field.Large {
			value = f.Normalizer.Normalize(value)
		}
		if !field.Large || field.Form != TextValue {
			value = field.Form.of(value, field.Country)
		}
		tokens := []string{value}
		split := field.Split
		if split == nil && field.Large {
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
			fieldWeights[token] += exact.Quantize(weight)
			w := 1.0
			if f.Weight != nil {
				w = f.Weight.Weigh(&Feature{Token: Token{Text: token}, Count: 1})
			}
			if weight == float64(int(weight)) {
				weights[token] += int64(weight) * exact.Quantize(w)
			} else {
				weights[token] += exact.Quantize(w * weight)
			}
		}
	}
	var a Accumulator64
	var b Accumulator128
	for token, n := range counts {
		w := weights[token]
		if f.Weight != nil && !isLinear(f.Weight) {
			w = exact.Quantize(f.Weight.Weigh(&Feature{Token: Token{Text: token}, Count: n}) * (float64(fieldWeights[token]) / (1 << 20) / n))
		}
		a.Add(f.Hash.sum64()(token), w)
		hi, lo := f.Hash.sum128()(token)
		b.Add(hi, lo, w)
	}
	return sum(&a, f.TiesOne), sum(&b, f.TiesOne), counts
}

// TestRecords compares records with the definition.
func TestRecords(t *testing.T) {
	t.Parallel()
	recs := []Record{
		nil, {}, {"other": "x"}, {"name": ""}, {"name": "。"},
		{"name": "Ann  Smith", "born": "6 May 2014", "phone": "+86 138-0013-8000", "price": "1,234.50", "text": "The cat. The <b>dog</b>!", "exact": " A "},
		{"name": "ann smith", "born": "2014-05-06", "phone": "13800138000", "price": "1234.5", "text": "the cat the dog", "exact": "a"},
		{"name": "张三", "born": "张三", "phone": "张三", "price": "张三", "text": "张三住房公积金", "exact": "张三"},
		{"text": strings.Repeat("many words of some kind ", 3000)},
	}
	fields := []Field{
		{Name: "name"}, {Name: "name", Split: NGrams{2}, Weight: 0.3}, {Name: "born", Form: DateValue, Named: true}, {Name: "phone", Form: PhoneValue, Country: "86", Weight: 3},
		{Name: "price", Form: NumberValue, Split: Words{}}, {Name: "text", Large: true}, {Name: "text", Large: true, Named: true, Split: Words{}}, {Name: "exact", Form: ExactValue, Named: true},
	}
	f := Fingerprinter{Fields: fields, Normalizer: Normalizer{HTML: true}, Tokenizer: Words{}}
	stats := DocumentFrequenciesBuilder{Fingerprinter: f}
	df := map[string]int{}
	for _, r := range recs {
		stats.Add(r)
		_, _, features := naiveRecord(&f, r)
		for token := range features {
			df[token]++
		}
	}
	s := stats.Build()
	checkFrequencies(t, "records", s, len(recs), df)
	for name, w := range map[string]Weight{"nil": nil, "idf": Product{Count, IDF{s, true}}, "bare idf": IDF{s, true}, "log-idf": Product{LogCount, IDF{s, true}}, "log": Product{LogCount, IDF{s, false}}, "binary": Constant(1), "length": Product{Count, termLength{}}} {
		f.Weight = w
		for _, hash := range []Hash{{}, {Sum64: june2013.Hash64, Sum128: june2013.Hash128}} {
			f.Hash = hash
			for _, r := range recs {
				want64, want128, counts := naiveRecord(&f, r)
				if got := f.Sum64(r); got != want64 {
					t.Errorf("%s, %.100v: %v, want %v", name, r, got, want64)
				}
				if got := f.Sum128(r); got != want128 {
					t.Errorf("%s, %.100v: %v, want %v", name, r, got, want128)
				}
				n := 0
				for feature := range f.Features(r) {
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
	if f.Sum64(recs[1]) != 0 || f.Sum64(recs[3]) != 0 {
		t.Error("a record without features has a fingerprint")
	}
	vf, err := f.Version()
	if err != nil || !strings.Contains(vf, " fields=") {
		t.Error(vf, err)
	}
	g := f
	seen := map[string]int{vf: -1}
	for i := range fields {
		for j, change := range []func(*Field){func(f *Field) { f.Name += "x" }, func(f *Field) { f.Weight += 7 }, func(f *Field) { f.Named = !f.Named }, func(f *Field) { f.Split = NGrams{9} }, func(f *Field) { f.Form = (f.Form + 1) % 6 }, func(f *Field) { f.Large = !f.Large }} {
			g.Fields = append([]Field(nil), fields...)
			change(&g.Fields[i])
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
		f := Fingerprinter{Fields: []Field{{Name: "a"}, {Name: "a", Split: NGrams{2}, Form: NumberValue}, {Name: "a", Large: true, Form: DateValue, Named: true}}}
		want, _, _ := naiveRecord(&f, Record{"a": s})
		if got := f.Sum64(Record{"a": s}); got != want {
			t.Errorf("%q: %v, want %v", s, got, want)
		}
	})
}

// TestFieldsRefused: a field that cannot mean anything is refused everywhere.
func TestFieldsRefused(t *testing.T) {
	for _, field := range []Field{{Weight: -1}, {Weight: math.NaN()}, {Weight: math.Inf(1)}, {Form: PhoneValue + 1}} {
		field.Name = "name"
		f := Fingerprinter{Fields: []Field{field}}
		if v, err := f.Version(); err == nil || !strings.Contains(err.Error(), `"name"`) {
			t.Errorf("%+v: version %s, %v", field, v, err)
		}
		if err := f.Check(); err == nil {
			t.Errorf("%+v: Check takes it", field)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%+v: a record is read", field)
				}
			}()
			f.Sum64(Record{"name": "x"})
		}()
	}
}

// TestCheckRecord: a record without a column that counts is an error that names both; an empty one is not.
func TestCheckRecord(t *testing.T) {
	var none Fingerprinter
	if (Record{"name": "Ann"}).Check(none.Fields) == nil {
		t.Error("no Fields are no error")
	}
	f := Fingerprinter{Fields: []Field{{Name: "name"}, {Name: "born"}}}
	for _, rec := range []Record{nil, {}, {"name": "Ann"}, {"born": ""}, {"name": "Ann", "other": "x"}} {
		if err := rec.Check(f.Fields); err != nil {
			t.Errorf("%v: %v", rec, err)
		}
	}
	if err := (Record{"nmae": "Ann"}).Check(f.Fields); err == nil || !strings.Contains(err.Error(), `"nmae"`) || !strings.Contains(err.Error(), `"born"`) {
		t.Errorf("a misspelt name: %v", err)
	}
}

// TestCountryVersion: the country counts for telephone numbers alone.
func TestCountryVersion(t *testing.T) {
	version := func(form ValueForm, country string) string {
		return must((&Fingerprinter{Fields: []Field{{Name: "a", Form: form, Country: country}}}).Version())
	}
	if version(TextValue, "86") != version(TextValue, "") {
		t.Error("the country counts for texts")
	}
	if version(PhoneValue, "86") == version(PhoneValue, "") {
		t.Error("the country does not count for telephone numbers")
	}
}
