// Package neardup finds near-duplicate texts: pages that differ in an advertisement, releases of one
// manual, five copies of one complaint. It is built for Chinese and English, and works well for
// other languages.
//
// Use a [github.com/neardup/neardup/dedup.Deduplicator] unless you have a reason not to. It needs no
// settings:
//
//	d, err := dedup.New[string](dedup.Options{})
//	d.Add("a", neardup.Text(text))
//	d.Add("b", neardup.Text(other))
//	for p, err := range d.Pairs(ctx) {
//		…
//	}
//
// This package has its building blocks, and tools for larger collections.
//
// # Which one do I want
//
// Each of these finds near-duplicates. They differ in what "near" means and in what they cost:
//
//   - A [github.com/neardup/neardup/dedup.Deduplicator] takes texts or records and chooses the features
//     itself. For each pair it reports how similar the two are, how likely they are near-duplicates, and of
//     which [Kind]. It finds revised texts too, tells pages of one template apart, groups what it
//     finds, explains it, and learns from labelled pairs.
//   - A [Fingerprint64] or [Fingerprint128] is the SimHash of a text. Texts with nearly the same
//     features have fingerprints that differ in few bits ([Fingerprinter.Sum64Of] takes your own features). They find copies and light edits
//     among hundreds of millions. [Pairs] and [Components] take a collection, [PairsBetween] takes an
//     old and a new one, and an [Index] takes documents one by one.
//   - A [Signature] is the MinHash of a text. Signatures find revised texts among millions, with a
//     similarity that you choose. Keep them in a [SignatureIndex]. A [Set] gives the exact similarity.
//   - A [Vector] has the weighted features of a text. [VectorPairs] and a [VectorIndex] find by exact
//     cosine, with features and weights that you choose.
//
// A Deduplicator and the three indexes have Add, Search, Pairs, Groups and Delete, in the same forms, and all can also be kept in files
// ([github.com/neardup/neardup/dedup.Open], [OpenIndex], [OpenSignatureIndex], [OpenVectorIndex]).
// For fingerprints that several programs share, use a store of package blockstore. Package passages finds what is copied inside
// documents.
//
// A [Fingerprinter] says how texts become features: which [Tokenizer] cuts them, which [Normalizer]
// removes what should not count, what [Weight] a feature has, and which [Hash] it gets. Its zero value
// is the default. It makes fingerprints, signatures, sets and vectors, of texts and of records with
// fields.
//
//   - Chinese words with their parts of speech: a [Segmenter]. Only programs that call [NewSegmenter]
//     contain its dictionary.
//   - Features that count more if they are rare: [IDF] with the [DocumentFrequencies] of a collection.
//   - Menus and footers of a site: [Boilerplate].
//   - A document that changes: an [Accumulator64], which can remove features. A document that does not
//     fit into memory: a [Stream].
//   - Texts of people who want to deceive you: a [SeededHash].
//
// # Keeping fingerprints
//
// Fingerprints can be compared only if they were made in the same way. [Fingerprinter.Version] says in
// one line how they were made, down to the digest of a dictionary. [WriteFingerprints] and
// [ReadFingerprints] keep that line with the fingerprints. If you keep fingerprints elsewhere, keep the
// line with them and check it with [Fingerprinter.CheckVersion]. The line, the fingerprints and
// the signatures are the same on every platform and with every toolchain.
//
// # What it misses
//
// An index and a join of fingerprints or vectors find everything within the distance or above the
// similarity. A [SignatureIndex] estimates similarities, and misses some pairs; a Deduplicator misses few: of
// the pairs that share half of their pairs of words, one in 270 is never compared. How many near texts are really
// near-duplicates must be measured. Fingerprints of 64 bits at the usual distance of 3 find copies and light edits: with the
// default features 81 % of the pairs of releases of English manual pages, and 35 % of the pairs of draft and
// published text of Chinese articles, both at a precision above 99 %. A Deduplicator has an F1 of
// 0.99 on both if its function is fitted to neither. The folder docs has the tables.
//
// Short texts have few features, so one changed word moves many bits. A text without letters, digits and
// emoji has the fingerprint 0, which says nothing about it.
//
// # Errors and misuse
//
// Failures at run time are returned as errors: those of files, contexts, values that come from
// outside, and options, which the constructors check. Look for sentinel errors with [errors.Is].
//
// Programming errors panic. The message begins with "neardup:" and says what is
// wrong:
//
//   - An argument is out of the range that its comment gives, where the function returns no error.
//   - A Fingerprinter has settings that [Fingerprinter.Check] refuses, and a method without an error
//     is called. Where settings come from outside, call Check first.
//   - A method is called on the zero value of a type that has a constructor and says that its zero
//     value is not usable.
//
// No text causes a panic: any bytes are a valid text.
//
// # Conventions
//
// A distance is a number of bits. A similarity is a number from 0 to 1. Bit 0 is the least
// significant, and text and binary forms begin with the most significant bit. Types that several
// goroutines may use at once say so; the others may not be shared.
//
// Options are passed by value. The zero value means the default.
//
// # Sources
//
// The library implements five documents. Comments cite them by author and year:
//
//   - Wang 2016: Wang Ge, Wu Zhao, Li Xiang, 基于全文检索的文本相似度算法应用研究 (text similarity by
//     full-text search; cosine compared with SimHash), 计算机与数字工程 2016(4).
//   - june 2013: june, SIMHASH 简介以及 JAVA 实现 (SimHash, its index of four blocks of 16 bits, and a
//     Java program), blog post with code of 2013.
//   - Wang 2019: Wang Cheng, Wang Yucheng, 基于Simhash的大规模文档去重改进算法研究 (an improved SimHash for
//     large collections), 计算机技术与发展 29(2), 2019.
//   - Li 2015: Li Hengxin, Han Jianhua, 关系型数据库数据的高效判重 (duplicates in relational databases),
//     华南师范大学学报, 2015.
//   - Zhang 2020: Zhang Xinglan, He Dandan, 基于改进的Simhash算法的相似文档识别技术 (SimHash with weights by
//     part of speech, length, markers and title), Computer Science and Application 10(2), 2020.
//
// SimHash is from Charikar, Similarity estimation techniques from rounding algorithms, 2002; its
// index by blocks from Manku, Jain, Das Sarma, Detecting near-duplicates for web crawling, 2007;
// MinHash from Broder, On the resemblance and containment of documents, 1997.
package neardup
