// Package pipeline puts the stages of a call together. Each stage is a package, takes values and returns values:
//
//	options   the settings, checked
//	corpus    the documents and their sources
//	learn     what must be known of all texts first: a schema, common lines, statistics
//	load      the documents, by several workers (package reading)
//	group     compare and group; --state keeps documents for later calls
//	write     the outputs, and what was found
//
// Others have some of the stages: shards divides a call among processes, inside has the commands passages and decontaminate,
// fingerprints writes a table, cost estimates what a call would cost.
package pipeline
