package input

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

// tableOf reads a table, and returns its names and rows, with an error in the place of a row that has one.
func tableOf(format, text string, cols Columns) (names []string, rows [][]string, bytes, notes string, err error) {
	s := &Source{Path: "x", Format: format}
	var raw strings.Builder
	err = s.Read(0, strings.NewReader(text), cols, 1<<16, func(it Item) bool {
		if it.Err != nil {
			rows = append(rows, []string{fmt.Sprintf("%d: %v", it.Line, it.Err)})
			return true
		}
		rows = append(rows, it.Row)
		raw.Write(it.Bytes)
		return true
	})
	if s.Header != nil {
		names = s.Header.Names
		return names, rows, string(s.Header.Raw) + raw.String(), strings.Join(s.Notes, "; "), err
	}
	return nil, rows, "", "", err
}

// TestTables reads what people's spreadsheets, databases and scripts write. The bytes of rows stay as they are.
func TestTables(t *testing.T) {
	cols := Columns{ID: "id", Text: "text", Title: "title"}
	for _, c := range []struct{ name, format, text, rows, says string }{
		{"plain", "csv", "id,text\r\n1,a b\r\n2,\"c, d\"\r\n", "1|a b/2|c, d", ""},
		{"a quote in a cell", "csv", "id,text\n1,24\" wide\n2,3/4\"\n", "1|24\" wide/2|3/4\"", "quotes that are not doubled: 2"},
		{"quotes in quotes", "csv", "id,text\n1,\"He said \"hello\" to\"\n", `1|He said "hello" to`, "not doubled: 1"},
		{"doubled", "csv", "id,text\n1,\"a \"\"b\"\" c\"\n", `1|a "b" c`, ""},
		{"backslash", "csv", "id,text\n1,\"a \\\"b\\\", c\"\n2,\"C:\\dir\\\"\n", `1|a "b", c/2|C:\dir\`, `\" for a quote: 1`},
		{"more quotes behind", "csv", "id,text\n1,\"Quoted\" and more\n2,b\n", "1|\"Quoted\" and more/2|b", "not doubled: 1"},
		{"lines in a cell", "csv", "id,text\n1,\"a\r\nb\n\nc\"\n2,d\n", "1|a\r\nb\n\nc/2|d", ""},
		{"blanks behind quotes", "csv", "id,text\n1,\"a\" \n\"2\" ,b\n", "1|a/2|b", ""},
		{"commas at the ends of rows", "csv", "id,text\n1,a,\n2,b,,\n", "1|a/2|b", "beyond the header: 2"},
		{"commas in the header", "csv", "id,text,,\n1,a,x,y\n2,b\n", "1|a|x|y/2|b||", ""},
		{"short rows", "csv", "id,text,note\n1,a\n2,b,c\n", "1|a|/2|b|c", "shorter than the header: 1"},
		{"empty rows", "csv", "id,text\n1,a\n\n,,\n ,\n2,b\n", "1|a/2|b", "rows of empty cells skipped: 2"},
		{"sep=", "csv", "sep=;\nid;text\n1;a,b\n", "1|a,b", ""},
		{"other separators", "csv", "id|text\n1|a, b; c\n2|d, e\n", "1|a, b; c/2|d, e", "separated by '|'"},
		{"blanks around names", "csv", " id , text \n1, a\n2, \"b, c\"\n", "1|a/2|b, c", "blanks after the separators are dropped"},
		{"a quote before a row", "csv", "id,text,n\n1,\"a,x,\"b\n2,\"c, d.\",e\n", "2: the quote that starts here is never closed/2|c, d.|e", ""},
		{"upper case", "csv", "ID,Text\n1,a\n", "1|a", `"Text" is used as "text"`},
		{"CR alone", "csv", "id,text\r1,a\r2,b\r", "1|a/2|b", ""},
		{"a title above", "csv", "Report, of the office\n\nid,text,n\n1,a,b\n", "1|a|b", "in row 2"},
		{"a comment", "csv", "# from a, b\nid,text,n\n1,a,b\n", "1|a|b", "in row 2"},
		{"equal names", "csv", "id,text,n,n\n1,a,b,c\n", "1|a|b|c", `two columns have the name "n"`},
		{"one comma too many", "csv", "id,text\n1,a,b\n2,c\n", "2: the row has 3 cells, but the header has 2; put cells that contain the separator in quotes/2|c", ""},
		{"a quote that never ends", "csv", "id,text\n1,\"a\n2,b\n3,c\n", "2: the quote that starts here is never closed/2|b/3|c", ""},
		{"quotes in TSV", "tsv", "id\ttext\n1\t\"open\n2\t\"a\" b\n3\tc\"\n", "1|\"open/2|\"a\" b/3|c\"", "not doubled: 3"},
		{"lines in TSV", "tsv", "id\ttext\n1\t\"a\nb\"\n2\tc\n", "1|a\nb/2|c", ""},
		{"a line that is too long", "csv", "id,text\n1,\"a\n" + strings.Repeat("x", 1<<17) + "\nb\"\n2,c\n", "3: longer than --max-line/2|c", ""},
		{"a quote that ends in such a line", "csv", "id,text\n1,\"a\n" + strings.Repeat("x", 1<<17) + "\"\n2,c\n3,\"d\"\n", "3: longer than --max-line/2|c/3|d", ""},
		{"lines with doubled quotes", "csv", "id,text,n\n1,\"[\"\"a\"\",\"\"b\"\"\n]\",q\n2,b,c\n", "1|[\"a\",\"b\"\n]|q/2|b|c", ""},
		{"a backslash before doubled quotes", "csv", "id,text\n1,\"ends \\\"\"\nsecond line\"\n2,b\n", "1|ends \\\"\nsecond line/2|b", ""},
		{"a backslash before the last quote", "csv", "id,text\n1,\"he said \\\"hi\\\"\"\n2,\"b\"\n3,c\n", "1|he said \"hi\"/2|b/3|c", `\" for a quote: 1`},
		{"the same without quotes behind", "csv", "id,text\n1,\"he said \\\"hi\\\"\"\n2,b\n", "1|he said \"hi\"/2|b", `\" for a quote: 1`},
		{"tabs in quotes", "tsv", "id\ttext\tn\n1\t\"a\tb\nc\"\tq\n", "1|a\tb\nc|q", ""},
		{"quotes over lines of TSV", "tsv", "id\ttext\n1\t\"open\n2\tand closed\"\n3\tc\n", "1|\"open/2|and closed\"/3|c", "not doubled: 2"},
		{"quotes behind blanks", "csv", "\"id\", \"text\"\n\"1\", \"a, b\"\n", "1|a, b", "blanks after the separators are dropped"},
	} {
		_, rows, raw, notes, err := tableOf(c.format, c.text, cols)
		var got []string
		for _, row := range rows {
			got = append(got, strings.Join(row, "|"))
		}
		if err != nil || strings.Join(got, "/") != c.rows || !strings.Contains(notes, c.says) || c.says == "" && notes != "" {
			t.Errorf("%s: %q, says %q, %v", c.name, got, notes, err)
		}
		if strings.Contains(c.rows, ": ") || strings.Contains(c.name, "empty") {
			continue
		}
		if raw != c.text {
			t.Errorf("%s: the bytes are %q instead of %q", c.name, raw, c.text)
		}
	}
	for text, want := range map[string]string{"id,text,Text\n1,a,b\n": "", "id,Text,TEXT\n1,a,b\n": "", "id,text,text\n1,a,b\n": `two columns have the name "text"`, "id,txt\n1,a\n": "--no-header", "1,text\n2,a\n": ""} {
		if _, _, _, _, err := tableOf("csv", text, cols); (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	letters := Columns{ID: "A", IDGiven: true, Text: "B", Layout: Layout{NoHeader: true}}
	if _, rows, _, _, err := tableOf("csv", "ID,b\n", Columns{ID: "id", Text: "B", Layout: Layout{NoHeader: true}}); err != nil || len(rows) != 1 {
		t.Errorf("a column ID: %q, %v", rows, err)
	}
	if _, rows, raw, _, err := tableOf("csv", "\n1,\""+strings.Repeat("line\n", 100)+"\"\n2,b\n", letters); err != nil || len(rows) != 2 || len(rows[0][1]) != 500 || rows[1][1] != "b" || len(raw) != 509 {
		t.Errorf("without a header, a row of many lines: %d rows, %d bytes, %v", len(rows), len(raw), err)
	}
	if _, rows, _, _, err := tableOf("csv", "x, y\nid,text\n1, a\n", Columns{ID: "id", Text: "text", Layout: Layout{HeaderRow: 2}}); err != nil || len(rows) != 1 || rows[0][1] != " a" {
		t.Errorf("blanks above the header: %q, %v", rows, err)
	}
	if names, rows, _, _, err := tableOf("csv", "1,a\n2,b\n", letters); err != nil || !slices.Equal(names, []string{"A", "B"}) || len(rows) != 2 {
		t.Errorf("without a header: %q, %q, %v", names, rows, err)
	}
}

// TestCostOfQuotes: quotes that never end, or end far away, do not make reading slower than the file is long.
func TestCostOfQuotes(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{"open": "1,\"abc\n", "escaped": "1,\"say \\\"\"\n", "reopened": "\",x,\"\n", "opened again": "a,\"b\",x,\"\n", "doubled": "1,\"\"abc\n", "inner": "1,\"a\"b\n"} {
		for _, format := range []string{"csv", "tsv"} {
			text := "id,text\n" + strings.Repeat(strings.Repeat(line, 300_000/len(line))+"2,\"b\"\n", 2)
			if format == "tsv" {
				text = strings.ReplaceAll(text, ",", "\t")
			}
			if _, rows, _, _, err := tableOf(format, text, Columns{ID: "id", Text: "text"}); err != nil || len(rows) < 1000 {
				t.Errorf("%s: %d rows, %v", name, len(rows), err)
			}
		}
	}
}

// FuzzCSV: a table that the library of Go reads is read the same, whatever else there is.
func FuzzCSV(f *testing.F) {
	for _, text := range []string{"id,text\n1,a\n", "id,text\n1,\"a\"\"b\nc\"\n\n2,\n", "id,text\n1,\"a \\\"b\\\", c\"\n", "id,text\n1,\"x\" y\n2,\"\n", "sep=;\nid;text\n1;2\n", "id,text,,\n1\n", " id, text\n1, \"a, b\"\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, rows, raw, _, err := tableOf("csv", text, Columns{ID: "id", Text: "text", Layout: Layout{Separator: ','}})
		if !strings.HasPrefix(text, "id,text\n") || strings.ContainsAny(text, "\r\x00\x1b~") || !isASCII([]byte(text)) {
			return
		}
		r := csv.NewReader(strings.NewReader(text))
		r.FieldsPerRecord = 2
		var want [][]string
		for {
			row, wrong := r.Read()
			if wrong == io.EOF {
				break
			}
			if wrong != nil {
				return
			}
			if filled(row) > 0 {
				want = append(want, row)
			}
		}
		if err != nil || len(rows) != len(want)-1 {
			t.Fatalf("%q: %q instead of %q, %v", text, rows, want[1:], err)
		}
		for i, row := range rows {
			if !slices.Equal(row, want[i+1]) && !strings.Contains(text, `\"`) {
				t.Fatalf("%q: row %d is %q instead of %q", text, i+1, row, want[i+1])
			}
		}
		if len(raw) > len(text) {
			t.Fatalf("%q: the bytes are %q", text, raw)
		}
	})
}

// TestDetect: texts in the usual encodings of their languages are read, in half a line; noise and what nobody can tell are not.
func TestDetect(t *testing.T) {
	for name, text := range map[string]string{
		"windows-1251": "Паром отошёл от маленькой пристани вскоре после семи утра, на борту было четыре грузовика.",
		"koi8-r":       "Паром отошёл от маленькой пристани вскоре после семи утра, на борту было четыре грузовика.",
		"ibm866":       "Паром отошёл от маленькой пристани вскоре после семи утра, на борту было четыре грузовика.",
		"iso-8859-5":   "Паром отошёл от маленькой пристани вскоре после семи утра, на борту было четыре грузовика.",
		"koi8-u":       "Пором відійшов від маленької пристані невдовзі після сьомої ранку, на його борту їхали люди.",
		"windows-1250": "Prom odpłynął z małego portu krótko po siódmej rano, wioząc cztery ciężarówki i łódź.",
		"iso-8859-2":   "Přívoz vyplul z malého přístavu krátce po sedmé hodině ranní a vezl čtyři nákladní vozy.",
		"windows-1252": "La barque a quitté le petit port peu après sept heures, avec quatre camions et des élèves.",
		"windows-1253": "Το πλοίο έφυγε από το μικρό λιμάνι λίγο μετά τις επτά το πρωί με τέσσερα φορτηγά.",
		"windows-1254": "Feribot sabah yediden kısa süre sonra küçük limandan ayrıldı, dört kamyon taşıyordu.",
		"windows-1255": "המעבורת יצאה מהנמל הקטן מעט אחרי שבע בבוקר ועליה ארבע משאיות ותריסר זוגות אופניים.",
		"windows-1256": "غادرت العبارة الميناء الصغير بعد السابعة صباحا بقليل وعلى متنها أربع شاحنات.",
		"windows-874":  "เรือข้ามฟากออกจากท่าเรือเล็กหลังเจ็ดโมงเช้าไม่นาน บรรทุกรถบรรทุกสี่คัน",
		"gb18030":      "渡轮在早晨七点过后不久离开小港口，载着四辆卡车和十几辆自行车。",
		"big5":         "渡輪在早晨七點過後不久離開小港口，載著四輛卡車和十幾輛自行車。",
		"shift_jis":    "フェリーは朝七時過ぎに小さな港を出て、トラック四台と自転車を運んだ。",
		"euc-jp":       "フェリーは朝七時過ぎに小さな港を出て、トラック四台と自転車を運んだ。",
		"iso-2022-jp":  "フェリーは朝七時過ぎに小さな港を出て、トラック四台と自転車を運んだ。",
		"hz-gb-2312":   "渡轮在早晨七点过后不久离开小港口，载着四辆卡车和十几辆自行车。\n",
		"euc-kr":       "나룻배는 아침 일곱 시가 조금 지나 작은 항구를 떠났으며 트럭 네 대를 실었다.",
		"utf-16le":     "渡轮在早晨七点过后不久离开小港口。\nIt left at 7.\n",
		"utf-16be":     "Паром отошёл от пристани.\nIt left at 7.\n",
	} {
		e, err := encodingOf(name)
		if err != nil {
			t.Fatal(err)
		}
		b, err := e.Append(nil, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := encodingIn(b)
		if err != nil || got == nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if read, _ := got.Text(b); read != text {
			t.Errorf("%s is taken for %s: %s", name, got.Name, read)
		}
	}
	if e, isOpen, err := encodingIn([]byte("a set ~{abcdefgh~} of letters")); e != nil || !isOpen || err != nil {
		t.Errorf("ASCII is taken for %v, %v", e, err)
	}
	noise := make([]byte, 3000)
	for i := range noise {
		noise[i] = byte(128 + i*i*7%128)
	}
	if e, _, err := encodingIn(noise); err == nil {
		t.Errorf("noise is taken for %v", e)
	}
}

// TestMixedEncodings: a file that goes on in another encoding is an error at its line, wherever that is; the first lines may be ASCII.
func TestMixedEncodings(t *testing.T) {
	e, _ := encodingOf("gb18030")
	chinese, _ := e.Append(nil, []byte("渡轮在早晨七点过后不久离开小港口，载着四辆卡车。\n"))
	gb, ascii := strings.Repeat(string(chinese), 20), strings.Repeat("plain words only\n", 100_000)
	read := func(text string) (n int, s *Source, wrong error) {
		s = &Source{Path: "x", Format: "lines"}
		err := s.Read(0, strings.NewReader(text), Columns{}, 1<<16, func(it Item) bool {
			if n++; it.Err != nil && wrong == nil {
				wrong = it.Err
			}
			if it.Err == nil && strings.Contains(string(it.Raw), "\uFFFD") {
				wrong = fmt.Errorf("line %d is %q", it.Line, it.Raw)
			}
			return true
		})
		if err != nil {
			wrong = err
		}
		return n, s, wrong
	}
	short, _ := e.Append(nil, []byte("学校\n双双\n")) // which are UTF-8 by chance
	if n, _, err := read(gb + string(short)); err != nil || n != 22 {
		t.Errorf("short lines: %d lines, %v", n, err)
	}
	if n, s, err := read(ascii + gb); err != nil || n != 100_020 || s.Encoding == nil || s.Encoding.Name != "GB18030" {
		t.Errorf("ASCII before: %d lines, %v", n, err)
	}
	if _, _, err := read(gb + "渡轮在早晨七点过后不久离开小港口\n"); err == nil || !strings.Contains(err.Error(), "this line is UTF-8") {
		t.Errorf("UTF-8 behind: %v", err)
	}
}

// TestLossy: bytes that are not of the encoding of a file are known, whatever its format is.
func TestLossy(t *testing.T) {
	e, _ := encodingOf("gb18030")
	chinese, _ := e.Append(nil, []byte("渡轮在早晨七点过后不久离开小港口载着四辆卡车"))
	for format, text := range map[string]string{"lines": "%s\n%s\xff\n", "csv": "id,text\n1,%s\n2,%s\xff\n", "tsv": "id\ttext\n1\t%s\n2\t\"%s\xff\n\"\n", "txt": "%s\n%s\xff", "json": "[{\"text\":\"%s\"},{\"text\":\"%s\xff\"}]"} {
		s := &Source{Path: "x", Format: format}
		lossy := 0
		err := s.Read(0, strings.NewReader(fmt.Sprintf(text, chinese, chinese)), Columns{ID: "id", Text: "text"}, 1<<16, func(it Item) bool {
			if !it.IsUTF8() {
				lossy++
			}
			return true
		})
		if err != nil || lossy != 1 || s.Encoding == nil {
			t.Errorf("%s: %d, %v", format, lossy, err)
		}
	}
}

// TestDistinct: any number of columns may have one name.
func TestDistinct(t *testing.T) {
	names, notes := distinct(append(slices.Repeat([]string{"a", ""}, 20_000), "a_7", "column 2"))
	seen := map[string]bool{}
	for _, name := range names {
		seen[name] = true
	}
	if len(seen) != len(names) || len(notes) > 10 || names[0] != "a" || names[2] != "a_2" || names[len(names)-2] != "a_7" {
		t.Errorf("%d of %d names, %d notes, %q", len(seen), len(names), len(notes), names[:4])
	}
}

// TestEncodingName: an encoding is the same one after it was written to a shard.
func TestEncodingName(t *testing.T) {
	for _, m := range marks {
		var e Encoding
		if m.of == nil {
			continue
		}
		name, _ := m.of.MarshalText()
		if err := e.UnmarshalText(name); err != nil || e != *m.of {
			t.Errorf("%s: %v, %v", name, e, err)
		}
	}
	for _, of := range ways() {
		var e Encoding
		name, _ := of.MarshalText()
		if err := e.UnmarshalText(name); err != nil || e != *of {
			t.Errorf("%s: %v, %v", name, e, err)
		}
	}
}
