package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestOpenpyxl: another library for workbooks reads what the program has written: types, the header that stays, the filter, formulas and other sheets.
func TestOpenpyxl(t *testing.T) {
	const python = "/usr/bin/python3" // where Debian puts the library
	if out, err := exec.Command(python, "-c", "import openpyxl").CombinedOutput(); err != nil {
		t.Skipf("there is no openpyxl: %v: %s", err, out)
	}
	dir := formatFiles(t)
	for from, want := range map[string]string{
		"types.parquet": `Sheet1 A2 $A$1:$S$3
id text price big local instant day clock flag small large f32 f64 blob list struct map uuid mood
'a' 'one and the same text of eight words here' 1.5 '123456789012345678901234.5' datetime.datetime(2026, 11, 24, 15, 4, 5, 123000) '2026-11-24T13:04:05Z' datetime.datetime(1969, 12, 31, 0, 0) datetime.time(6, 7, 8) True 42 '18446744073709551615' 0.1 0.1 '/wA=' '["x",null,"y"]' '{"k":{"deep":7,"list":[[1,2],[]]},"n":null}' '{"k1":1,"k2":2}' '01234567-89ab-cdef-0123-456789abcdef' 'happy'
'c' 'quite another one about the weather of today' None None datetime.datetime(1960, 1, 1, 0, 0) '9999-01-01T00:00:00Z' datetime.datetime(2026, 2, 28, 0, 0) datetime.time(0, 0) None None None None None '' None None None None 'sad'
`,
		"types.xlsx": `Letters A2 A1:I3
id text price when day clock open sum note
'a' 'one and the same text of eight words here' 1.5 datetime.datetime(2026, 11, 24, 15, 4, 5) datetime.datetime(2026, 2, 28, 0, 0) datetime.time(6, 7, 8) True '=C2*2' '007'
'c' 'quite another one about the weather of today' 12345678901234 datetime.datetime(1999, 12, 31, 23, 59, 59) datetime.datetime(2000, 1, 1, 0, 0) datetime.time(0, 0, 1) None '=C3*2' '007'
Totals None None
all =SUM(Letters!C2:C3) =Letters!C3
`,
	} {
		if status, _, stderr := inDirectory(t, dir, "dedup", "-q", "--sheet", "", "--out", "o.xlsx", from); status != 0 {
			t.Fatalf("%s: status %d, %q", from, status, stderr)
		}
		out, err := exec.Command(python, "-c", `
import openpyxl, sys
for s in openpyxl.load_workbook(sys.argv[1]):
    print(s.title, s.freeze_panes, s.auto_filter.ref)
    for n, r in enumerate(s.iter_rows()):
        print(*[c.value if n == 0 else repr(c.value) for c in r])
`, filepath.Join(dir, "o.xlsx")).CombinedOutput()
		if err != nil || strings.TrimSpace(string(out)) != strings.TrimSpace(want) {
			t.Errorf("%s became %v\n%s", from, err, out)
		}
	}
}
