// Package quality measures what the settings of the library do to precision, recall and F1 by pairs on the collections of
// NEARDUP_DATA. Its tests print the tables that the docs quote, and fail if F1 falls below what was reached:
//
//	NEARDUP_DATA=… go test -C lab ./quality -v
package quality
