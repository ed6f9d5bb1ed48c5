// Package baseline has the methods that Wang 2019, Li 2015 and Zhang 2020 compare SimHash with, as
// they describe them: sampled shingles and super-shingles (Broder et al. 1997), I-Match (Chowdhury
// et al. 2002), Single-Pass clustering, and MinHash with the hash functions of textbooks and of
// Wang 2019. It also has record linkage as Splink does it. They are here for comparison. The library has better methods.
package baseline
