// Package link finds rows of a table that are about the same thing, without labels.
//
//	plain.go       values without case, marks and punctuation, and their words
//	similar.go     how alike two words or values are
//	values.go      dates and numbers
//	cells.go       the cells of a column, each distinct one once
//	column.go      what a column is
//	rare.go        how rare values and words are
//	agree.go       at which level two values agree
//	candidates.go  which pairs of rows are compared: those that share something rare
//	start.go       what each level of each column says in most tables
//	weights.go     what it says in this one, by EM
//	labels.go      what somebody has said of pairs
//	score.go       the odds of pairs
//	groups.go      groups that pairs agree on
//	search.go      the rows that match another row
//	explain.go     what each column adds to the odds of a pair
//	table.go       the way through
//
// The model is that of Fellegi and Sunter (A Theory for Record Linkage, 1969) with weights by EM (Winkler 1988), and differs in four things. Besides
// matches and pairs at random there are two more classes of pairs, siblings and relatives: articles in one issue, works of one author. The row as a whole is one more
// column. How rare a value is, is counted among the groups that are found. And columns are not independent, so the evidence of many counts as that of a few.
package link
