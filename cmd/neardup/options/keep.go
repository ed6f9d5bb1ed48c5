package options

import (
	"github.com/neardup/neardup"
)

// This file has the rules of --keep and --linkage.

// linkages has what --linkage can name.
var linkages = map[string]neardup.Linkage{"centre": neardup.CentreLinkage, "complete": neardup.CompleteLinkage, "single": neardup.SingleLinkage}

// preferences has what --keep can name. A preference reports whether document a is better to keep than b, by
// their numbers and lengths.
var preferences = map[string]func(a, lengthA, b, lengthB int) bool{
	"first":   func(a, _, b, _ int) bool { return a < b },
	"longest": func(_, lengthA, _, lengthB int) bool { return lengthA > lengthB },
	"newest":  func(a, _, b, _ int) bool { return a > b },
}

// Linkage returns what --linkage names.
func (m *Method) Linkage() neardup.Linkage { return linkages[m.Joins] }

// Prefers returns what --keep names: whether document a is better to keep than b, by their numbers and lengths.
func (m *Method) Prefers() func(a, lengthA, b, lengthB int) bool { return preferences[m.Keep] }
