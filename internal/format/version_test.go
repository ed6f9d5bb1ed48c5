package format

import (
	"errors"
	"strings"
	"testing"
)

// TestCompareVersions: an error says what differs, of parts with values and of words of the caller's own.
func TestCompareVersions(t *testing.T) {
	for _, c := range []struct{ stored, current, want string }{
		{"a=1 tags", "a=1 tags", ""},
		{"a=1 tags", "a=2 tags", "a=1, not 2"},
		{"a=1 tags 1", "a=1 tags 2", `"1" is missing now; "2" was not set then`},
		{"", "a=1", "a was not set, now 1"},
		{"a=1", "", "a=1, not none"},
		{"tags", "", `"tags" is missing now`},
		{"tags a=1", "a=1 tags", "the versions are written differently"},
		{"tags=", "tags", `"tags" was not set then`},
	} {
		err := CompareVersions(c.stored, c.current, "again")
		if (err == nil) != (c.want == "") {
			t.Fatalf("%q, %q: %v", c.stored, c.current, err)
		}
		if err != nil && (!errors.Is(err, ErrVersion) || !strings.Contains(err.Error(), ": "+c.want+"; again")) {
			t.Errorf("%q, %q: %v, want %s", c.stored, c.current, err, c.want)
		}
	}
}
