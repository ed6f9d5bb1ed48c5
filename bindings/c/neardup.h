/* neardup in C and in every language that can call C: near-duplicate texts, found by the Go library.
 *
 *	go build -C bindings -buildmode=c-shared -o libneardup.so ./c
 *	cc program.c -Ibindings/c -L. -lneardup
 *
 * Texts are any bytes, and need no 0 at the end; nothing keeps them after a call. Everything may be called from several threads
 * at once. Results are the same as those of the Go library of the same version, bit for bit, on every platform.
 *
 * A function that can fail returns 0 if all went well, and another number otherwise. Then, if error is not NULL, *error is a
 * message, which neardup_free frees, as it does every array that a function returns. An array without elements is NULL, and so is
 * that of a function that failed. A NULL text with a length above 0, and NULL for a result, end the program. The header is C99.
 *
 * The library holds the Go runtime, which starts, with threads of its own, when the library is loaded. A program that forks
 * after that must call exec in the child before it uses the library there.
 */
#ifndef NEARDUP_H
#define NEARDUP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef const char *neardup_text;      /* bytes, whose number is given beside them */
typedef const uint32_t *neardup_values; /* the values of a MinHash signature */

/* How the documents of a pair differ: the kinds of the Go library, by the same numbers. */
enum {
	NEARDUP_IDENTICAL = 1,
	NEARDUP_SAME_WORDS = 2,
	NEARDUP_SAME_FORM = 4,
	NEARDUP_SAME_EXCEPT_NUMBERS = 8,
	NEARDUP_CONTAINED = 16,
	NEARDUP_REVISED = 32
};

/* A stored document that is like a text. */
typedef struct {
	uint64_t id;
	double similarity;  /* 0 to 1 */
	double probability; /* that the two are near-duplicates */
	uint32_t kind;
} neardup_match;

/* Two stored documents that are near-duplicates; a was added before b. */
typedef struct {
	uint64_t a, b;
	double similarity, probability;
	uint32_t kind;
} neardup_pair;

/* A member of a group of near-duplicates. The group is named by its document that is kept. */
typedef struct {
	uint64_t id, keep;
} neardup_member;

/* Stored documents, under ids that the caller chooses. 0 means none. */
typedef uintptr_t neardup_dedup;

/* The version of the fingerprints and signatures that this library makes. Those of different versions cannot be
 * compared. The text ends in 0, and need not be freed. */
neardup_text neardup_version(void);

/* The 64-bit SimHash of a text, neardup.Sum64 in Go. 0 nearly always means a text without words. */
uint64_t neardup_sum64(neardup_text text, size_t length);

/* The 128-bit SimHash of a text. */
void neardup_sum128(neardup_text text, size_t length, uint64_t *hi, uint64_t *lo);

/* The number of bits in which two fingerprints differ; up to 3 means near-duplicates. */
static inline int neardup_distance(uint64_t a, uint64_t b) {
	int n = 0;
	for (a ^= b; a != 0; a &= a - 1) n++;
	return n;
}

/* The MinHash signature of a text, of count values: 16 to 4096; 128 is usual. */
int neardup_sign(neardup_text text, size_t length, uint32_t *values, size_t count, char **error);

/* The estimated Jaccard similarity of the sets of two signatures of count values; NaN if both sets are empty. */
double neardup_jaccard(neardup_values a, neardup_values b, size_t count);

/* A new collection in memory. probability is the smallest one of near-duplicates, above 0 and at most 1; 0 means one half.
 * It returns 0 after an error. */
neardup_dedup neardup_dedup_new(double probability, char **error);

/* The same, with the documents in files at a path, which need not exist yet; see dedup.Open in Go. */
neardup_dedup neardup_dedup_open(const char *path, double probability, char **error);

/* Adds a document. One that has the id is replaced. */
int neardup_dedup_add(neardup_dedup d, uint64_t id, neardup_text text, size_t length, char **error);

/* Deletes a document. It is not an error if there is none. */
int neardup_dedup_delete(neardup_dedup d, uint64_t id, char **error);

/* The stored near-duplicates of a text, the most probable first. */
int neardup_dedup_search(neardup_dedup d, neardup_text text, size_t length, neardup_match **matches, size_t *count, char **error);

/* All pairs of near-duplicates. */
int neardup_dedup_pairs(neardup_dedup d, neardup_pair **pairs, size_t *count, char **error);

/* The members of all groups of near-duplicates, one group after the other. What is in none stands alone. Delete those
 * whose id is not keep, and no near-duplicates are left. */
int neardup_dedup_groups(neardup_dedup d, neardup_member **members, size_t *count, char **error);

/* Ends the use of d: writes what is in files, and frees the memory. */
int neardup_dedup_close(neardup_dedup d, char **error);

/* Frees what a function returned. NULL does nothing. */
void neardup_free(void *memory);

#ifdef __cplusplus
}
#endif
#endif
