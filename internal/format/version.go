package format

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Clip shortens a text to about 100 bytes for an error message.
func Clip(s string) string {
	if len(s) > 100 {
		return strings.ToValidUTF8(s[:100], "") + "…"
	}
	return s
}

// ErrVersion is the error for data that was stored with other settings, in another width or by
// another version of the library.
var ErrVersion = errors.New("data was stored with different settings")

// IsVersion reports whether s may be a version: one line of printable ASCII, not empty and at most
// MaxVersion bytes.
func IsVersion(s string) bool {
	for _, c := range []byte(s) {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return s != "" && len(s) <= MaxVersion
}

// Shown returns a part of a version for an error message. It is shortened, and quoted if it is not
// printable ASCII, because it may come from a damaged file.
func Shown(s string) string {
	if s = Clip(s); IsVersion(s) || s == "" || !strings.ContainsFunc(s, func(r rune) bool { return r != '…' && (r < ' ' || r > '~') }) {
		return s
	}
	return fmt.Sprintf("%q", s)
}

// CompareVersions returns nil if two versions are equal, and otherwise an ErrVersion. A version is
// a list of key=value parts separated by spaces. The error lists the parts that differ, at most
// eight, and advises what to do again. It does not show the check values of secrets.
func CompareVersions(stored, current, again string) error {
	if stored == current {
		return nil
	}
	old, now := strings.Fields(stored), strings.Fields(current)
	var differ []string
	for _, o := range old {
		key, value, isPair := strings.Cut(o, "=")
		n := field(now, key)
		switch {
		case n == value && (isPair || slices.Contains(now, o)):
		case !isPair: // the caller's own words
			differ = append(differ, fmt.Sprintf("%q is missing now", o))
		case strings.HasPrefix(value, "xxh3-seeded:") && strings.HasPrefix(n, "xxh3-seeded:"):
			differ = append(differ, "a different secret")
		default:
			differ = append(differ, fmt.Sprintf("%s=%s, not %s", Shown(key), Shown(value), cmp.Or(Shown(n), "none")))
		}
	}
	for _, n := range now {
		key, value, isPair := strings.Cut(n, "=")
		switch {
		case isPair && field(old, key) == "":
			differ = append(differ, fmt.Sprintf("%s was not set, now %s", Shown(key), Shown(value)))
		case !isPair && !slices.Contains(old, n):
			differ = append(differ, fmt.Sprintf("%q was not set then", n))
		}
	}
	// The same parts in another order, or some of them twice.
	if differ == nil {
		differ = []string{"the versions are written differently"}
	}
	return fmt.Errorf("neardup: %w: %s; %s, or use the original settings", ErrVersion, strings.Join(differ[:min(len(differ), 8)], "; "), again)
}

// field returns the value of a key in the parts of a version, or "" if there is none.
func field(version []string, key string) string {
	for _, f := range version {
		if k, value, _ := strings.Cut(f, "="); k == key {
			return value
		}
	}
	return ""
}
