// Package sample has texts for the tests of passages and leaks, and reads them as words. It is a package, and
// not a test file, because the tests of two packages use it.
package sample

import (
	"fmt"
	"strings"

	"github.com/neardup/neardup"
)

// Words returns the words and characters of a text, folded.
func Words(text string) (all []string) {
	for t := range (neardup.Words{}).Tokens(text) {
		all = append(all, t.Text)
	}
	return all
}

// Numbered returns n words from one on.
func Numbered(from, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "w%d ", from+i)
	}
	return strings.TrimSpace(b.String())
}
