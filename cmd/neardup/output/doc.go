// Package output writes collections in any format, and tables of what was found.
//
//	collection.go  the formats, and a writer for each; JSON lines, tables of text, and lines
//	workbook.go    workbooks: new ones, and the one that was read without some of its rows
//	parquet.go     Parquet: new files, and rows of the ones that were read
//	arrow.go       Arrow
//	tables.go      tables of what was found
package output
