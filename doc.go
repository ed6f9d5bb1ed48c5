// Package neardup finds near-duplicate texts: pages that differ in an
// advertisement, releases of one manual, five copies of one complaint. Chinese
// and English come first; everything else is served well.
//
// A text is cut into features by a [Tokenizer], the features are hashed, and
// their hashes vote on the bits of a SimHash fingerprint. Texts that share most
// of their features have fingerprints that differ in few bits, so comparing
// texts becomes comparing two words:
//
//	a, b := neardup.Sum64(text), neardup.Sum64(other)
//	if a.Distance(b) <= 3 { ... }
//
// That finds copies and light edits, by the million. What finds nearly all near-duplicates, in
// Chinese and in English, revised ones too, without any settings, is a [Deduplicator].
//
// # Which one do I want
//
// Near-duplicates of documents, in groups of which one is kept, or of one document among those
// before it: a [Deduplicator], which verifies exactly what it finds, says why ([Deduplicator.Explain]), and
// chooses its settings by examples ([Deduplicator.Calibrate]).
//
// Many fingerprints: [Pairs], or [Clusters] to get groups and keep one document of each. A new collection against an old one: [PairsBetween]. New
// documents against those seen so far: an [Index], in memory ([NewIndex]) or in files
// ([OpenIndex]), which also knows the nearest at any distance. Programs that share fingerprints, or have more
// than fit into memory: a [BlockStore]. Other features, weights or
// hashes: a [Fingerprinter]. A document that is edited again and again, or read by several
// workers: an [Accumulator64], from which features can be taken out again. A document
// larger than memory: a [Stream]. Chinese words with their parts of speech: a [Segmenter]; nothing else in
// the package links its dictionary.
//
// Pages, changing dates and numbers, menus and footers: a [Normalizer] takes away
// what should not count. Texts of people who would gain from cheating: a
// [SeededHash].
//
// Texts that people revised, more than a few bits apart: the [Set] of their features, exactly,
// or a MinHash [Signature] ([Fingerprinter.Sign]) and a [SignatureIndex] for many. Exact cosine of weighted
// features: a [Vector] ([Fingerprinter.Vector]), [VectorPairs] and a [VectorIndex]. Keywords or
// tags that should decide too: a [Blend].
//
// Words that should count more than others: a [Weight], most often by the document
// frequencies of a [StatisticsBuilder]. Rows with fields instead of texts: the Fields of a
// [Fingerprinter], and a [Record].
//
// # Keeping fingerprints
//
// Fingerprints compare only if everything was the same that made them.
// [Fingerprinter.Version] says it in a line of text, down to the digest of a
// dictionary. [WriteFingerprints] and [ReadFingerprints] keep it with the
// fingerprints; where they are stored elsewhere, store it beside them and ask
// [Fingerprinter.CheckVersion]. What characters are letters, and how they fold, does
// not depend on the toolchain or the platform.
//
// The program in examples/dedup does all of it for files.
//
// # What it will miss
//
// Everything within the distance is found, that is a theorem; what the distance
// means is a measurement. At the usual distance of 3 in 64 bits, fingerprints
// find copies and light edits, not revisions: with the default features 81 % of
// the pairs of releases of English manual pages, and 35 % of the pairs of draft
// and published text of Chinese articles, both at a precision above 99 %. A
// larger distance finds more; how much more it confuses depends on the features and
// their weights. With log count × idf of dictionary words, 128 bits and a distance of 35,
// 99 % of those Chinese pairs are found at a precision of 97 %; by MinHash of pairs of
// characters as many at 99.6 %, and by a Deduplicator, which is told nothing, 98.5 % at
// 99.6 %. The README has the tables.
//
// Short texts have few features, so one changed word moves many bits. A text
// without letters, digits and emoji has fingerprint 0, which means nothing.
//
// # Conventions
//
// A distance is a number of bits, a similarity a number from 0 to 1. Bit 0 is
// the least significant; text and binary forms begin with the most significant.
// Any bytes are a valid text. Fingerprints and signatures are the same on every
// platform. Values that several goroutines may use at once say so; the others may not.
//
// The comments name their sources by the numbers of the five documents that the
// library implements: S000 (Wang, Wu, Li 2016: cosine against SimHash), S001
// (SimHash with its 4×16 index, 2013), S002 (Wang, Wang 2019: improved SimHash
// at scale), S003 (Li, Han 2015: duplicates in databases), S004 (Zhang, He 2020:
// weighted SimHash).
package neardup
