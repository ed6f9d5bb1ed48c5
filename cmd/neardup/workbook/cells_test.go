package workbook

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"

	"github.com/neardup/neardup/cmd/neardup/rows"
)

// TestCells writes values into a workbook and reads them again.
func TestCells(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 2, 28, 23, 59, 58, 0, time.UTC)
	written := []rows.Value{true, rows.Number("42"), rows.Number("-1.50"), 0.1, rows.Time{At: at, Form: rows.Local}, rows.Time{At: at.Truncate(24 * time.Hour), Form: rows.Date}, rows.Time{At: time.Date(1970, 1, 1, 6, 7, 8, 0, time.UTC), Form: rows.Clock},
		"=1+1", "007", nil, rows.List{rows.Number("1"), "x"}, rows.Time{At: at, Form: rows.Instant}, rows.Number("12345678901234567890"), []byte{255}}
	want := []string{"true", "42", "-1.5", "0.1", "2026-02-28T23:59:58", "2026-02-28", "06:07:08", "=1+1", "007", "", `[1,"x"]`, "2026-02-28T23:59:58Z", "12345678901234567890", "/w=="}
	header := make([]string, len(written))
	for i := range header {
		header[i] = fmt.Sprint("column ", i)
	}
	const n = 150 // more than show the widths
	w, err := NewWriter(header, n)
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		if err := w.Write(written); err != nil {
			t.Fatal(err)
		}
	}
	book, err := w.End()
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := book.Write(&file); err != nil {
		t.Fatal(err)
	}
	if book, err = excelize.OpenReader(&file); err != nil {
		t.Fatal(err)
	}
	defer book.Close()
	r, err := NewReader(book, "Sheet1")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []int{2, n + 1} {
		got, err := r.Read(row, len(written))
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range got {
			if rows.Text(v) != want[i] {
				t.Errorf("%#v became %#v", written[i], v)
			}
		}
	}
	if shown, _ := book.GetCellValue("Sheet1", "C2"); shown != "-1.50" {
		t.Errorf("-1.50 is shown as %s", shown)
	}
	if f, _ := book.GetCellFormula("Sheet1", "H2"); f != "" {
		t.Errorf("a text became the formula %s", f)
	}
	panes, err := book.GetPanes("Sheet1")
	if err != nil || !panes.Freeze || panes.YSplit != 1 {
		t.Errorf("the header is not frozen: %+v, %v", panes, err)
	}
	if names := book.GetDefinedName(); len(names) != 1 || !strings.HasSuffix(names[0].RefersTo, "$A$1:$N$151") {
		t.Errorf("the filter is %+v", names)
	}
	if width, _ := book.GetColWidth("Sheet1", "L"); width != 22 {
		t.Errorf("a column of 20 characters has the width %v", width)
	}
	for _, bad := range []string{"a\x01b", strings.Repeat("é", mostCell+1)} {
		w, err := NewWriter([]string{"a"}, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err = w.Write([]rows.Value{bad}); err == nil {
			_, err = w.End()
		}
		if err == nil || !strings.Contains(err.Error(), "row 2: ") {
			t.Errorf("%.10q: %v", bad, err)
		}
	}
}

// TestFormats of numbers: which are dates, and which are not.
func TestFormats(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]form{
		"yyyy-mm-dd": {true, false, rows.Date}, `[$-409]d\-mmm\-yy;@`: {true, false, rows.Date}, "dd/mm/yyyy hh:mm": {true, false, rows.Local}, "[h]:mm:ss": {true, true, rows.Clock}, "mm:ss.0": {true, false, rows.Clock},
		"0.00": {}, "General": {}, `0.0 "days"`: {}, "#,##0 [$€-407]": {}, "[Red]0": {}, `0\d`: {}, "@": {}, `yyyy"年"m"月"d"日"`: {true, false, rows.Date},
	} {
		if got := formOfCode(code); got != want {
			t.Errorf("%s is %+v", code, got)
		}
	}
}

// TestTimes: what numbers are that a format does not show as a whole, or cannot, and cells below others that are merged.
func TestTimes(t *testing.T) {
	t.Parallel()
	book := excelize.NewFile()
	codes := []string{"hh:mm", "[h]:mm:ss", "yyyy-mm-dd", "hh:mm:ss.000"}
	for i, code := range codes {
		style, err := book.NewStyle(&excelize.Style{CustomNumFmt: &code})
		if err != nil {
			t.Fatal(err)
		}
		for row, x := range []float64{0.25, 2_000_000.25, 2.5000115740740741, 1e20, -3} {
			name, _ := excelize.CoordinatesToCellName(i+1, row+1)
			book.SetCellValue("Sheet1", name, x)
			book.SetCellStyle("Sheet1", name, name, style)
		}
	}
	book.SetCellValue("Sheet1", "A6", "one")
	book.MergeCell("Sheet1", "A6", "B6")
	var b bytes.Buffer
	if err := book.Write(&b); err != nil {
		t.Fatal(err)
	}
	book, err := excelize.OpenReader(&b)
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(book, "Sheet1")
	if err != nil {
		t.Fatal(err)
	}
	for row, want := range []string{
		"06:00:00 06:00:00 1899-12-30T06:00:00 06:00:00",
		"7375-10-23T06:00:00 48000006:00:00 7375-10-23T06:00:00 7375-10-23T06:00:00",
		"1900-01-02T12:00:01 60:00:01 1900-01-02T12:00:01 1900-01-02T12:00:01",
		strings.TrimSpace(strings.Repeat("100000000000000000000 ", 4)),
		"-3 -3 -3 -3",
		"one   ",
	} {
		values, err := r.Read(row+1, len(codes))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, v := range values {
			got = append(got, rows.Text(v))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("row %d: %q instead of %q", row+1, strings.Join(got, " "), want)
		}
	}
}
