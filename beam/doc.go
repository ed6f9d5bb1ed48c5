// Package neardupbeam finds the near-duplicates of collections too large for one machine, with Apache Beam: on Flink, Spark,
// Dataflow, or another runner of the Beam Go SDK. The features, the verification and the groups are those of the
// library, bit for bit; the tests compare them on every collection.
//
//	documents, bad := neardupbeam.Read(s, []string{"gs://crawl/*.jsonl.gz"}, neardupbeam.ReadOptions{})
//	found := neardupbeam.NearDuplicates(s, documents, neardupbeam.Options{})
//	neardupbeam.Write(s, "gs://cleaned/kept", 1000, found.Kept)
//
// The pipelines are for finite collections: a group is complete only when all documents are there. An unbounded source is
// an error; for documents that come one by one, use neardupd or a dedup.Deduplicator.
//
// [Fingerprint], [Pairs] and [Groups] are the parts, for pipelines of your own. The command neardup-beam, in the folder of
// that name, is a program that does all of it. https://github.com/neardup/neardup/blob/main/docs/beyond.md tells when to use
// it, how to run it, and what it costs.
//
// The files of the package:
//
//	options.go     the settings, and their checks
//	elements.go    what is in collections, and its form between workers
//	profile.go     make fingerprints, signatures and vectors; count document frequencies
//	auto.go        the method of package dedup
//	pairs.go       contents, buckets, candidates, verification
//	components.go  connected components
//	groups.go      groups, and the document of each to keep
//	neardup.go     from documents to a cleaned collection
//	read.go        read files
//	cut.go         cut large files into parts, for many workers
//	parquet.go     cut and read Parquet
//	write.go       write files
//	register.go    tell Beam how to call DoFns
package neardupbeam
