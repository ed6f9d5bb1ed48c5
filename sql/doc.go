// Package neardupsql finds near-duplicates inside a database or a warehouse: a [Join] writes, or runs, the SQL that
// joins a table of fingerprints within a Hamming distance, or a table of MinHash signatures above a similarity, and
// groups what it finds. The results are those of the library in memory, bit for bit:
//
//	fingerprints  pairs of [neardup.Pairs], groups of [neardup.Components]; nothing is missed
//	signatures    pairs and groups of a [neardup.SignatureIndex]; its Banding says what is missed
//
// Fingerprints and signatures come from `neardup fingerprint`, which writes Parquet and CSV, or from a function of a
// program that adds it to its database (see the example for DuckDB).
//
//	j := neardupsql.Join{Dialect: neardupsql.DuckDB, Table: "documents"}
//	err := j.Script(os.Stdout)      // to run elsewhere
//	result, err := j.Run(ctx, db)   // or here
//
// https://github.com/neardup/neardup/blob/main/docs/beyond.md says when to use it, and what it
// costs.
package neardupsql
