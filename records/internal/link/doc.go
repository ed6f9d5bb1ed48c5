// Package link finds rows of a table that are about the same thing, without labels.
//
//	plain.go       values without case, marks and punctuation, and their words
//	similar.go     how alike two words or values are
//	column.go      what a column is, and at which level two of its values agree
//	candidates.go  which pairs of rows are compared: those that share something rare
//	weights.go     how much each level of each column says, by EM
//	groups.go      groups that pairs agree on
//
// The model is that of Fellegi and Sunter (A Theory for Record Linkage, 1969) with weights by EM (Winkler 1988), and differs in three things. Besides
// matches and pairs at random there is a third class of pairs, siblings: articles in one issue, people in one household. The row as a whole is one more column.
// And columns are not independent, so the evidence of many counts as that of four.
package link
