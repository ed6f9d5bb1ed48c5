// Package pipeline does the work of a call, stage by stage, and knows nothing of flags:
//
//	find     the inputs                                 dedup.go, package input
//	learn    common lines, statistics, a schema         corpus.go, schema.go
//	load     documents, with several workers            load.go, ids.go, package reading
//	compare  and group                                  auto.go, method.go, group.go, given.go
//	name     the groups                                 groups.go
//	write    pairs, groups, collections, audit, page    results.go, again.go, cleaned.go, audit.go, report.go, package output
//	say      what was found                             summary.go
//
// Each stage takes the part of the Options that it needs.
//
//	dedup.go      the stages in their order
//	options.go    the settings, and what is wrong with them
//	settings.go   from settings to a Fingerprinter
//	collection.go what a call knows of its documents
//	state.go      the documents of all calls (--state); saved.go: their fingerprints (--save, --against)
//	loaded.go     a collection for commands that look at single documents; labels.go: labels of pairs
//	shard.go      a share of the documents, for one of several processes; parts.go: all of them; merge.go: what they find together
//	found.go      what a Deduplicator finds
//	marks.go      a table of fingerprints or signatures
//	estimate.go   what a call would cost; advice.go: and where to make it
//	progress.go   what is being done, and how long it will take
//	version.go    of the program
package pipeline
