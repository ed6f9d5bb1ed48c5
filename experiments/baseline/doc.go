// Package baseline has the methods that S002 to S004 compare SimHash with, as they describe
// them: sampled shingles and super-shingles (Broder et al. 1997), I-Match (Chowdhury et al. 2002),
// Single-Pass clustering, and MinHash with the hash functions of the textbooks and of S002. They serve for comparison;
// the library itself has better ones.
package baseline
