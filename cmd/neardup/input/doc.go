// Package input reads collections: it finds the files that a user names, decodes and decompresses them, and makes
// items of them, which become documents with an id and a text, records, or rows with typed values.
//
//	find.go      the files of a call: names, directories, patterns, lists
//	input.go     sources, and the items in them
//	encoding.go  which encoding a text has
//	lines.go     lines
//	csv.go       tables of text
//	workbook.go  workbooks
//	parquet.go   Parquet
//	arrow.go     Arrow
//	warc.go      web archives
//	document.go  from an item to a document
//	record.go    from an item to a record
//	typed.go     from an item to typed values
package input
