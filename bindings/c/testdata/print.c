/* Prints what the library says of texts, bit by bit, for the test in Go, which prints the same with the Go library:
 *
 *	print FILE DIR
 *
 * FILE has texts, each behind its length and a line end. DIR is for files.
 */
#include "neardup.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t bits(double x) {
	uint64_t b;
	memcpy(&b, &x, sizeof b);
	return b;
}

static char *error; /* of the last call that failed */

/* check ends the program if a call has failed. */
static void check(int failed) {
	if (failed) {
		fprintf(stderr, "%s\n", error);
		exit(1);
	}
}

/* refused says that a call must fail, with a message. */
static void refused(int failed) {
	if (!failed || error == NULL || strlen(error) < 10) {
		fprintf(stderr, "nothing is said of a mistake\n");
		exit(1);
	}
	neardup_free(error);
	error = NULL;
}

static void collection(neardup_dedup d) {
	size_t n;
	neardup_pair *pairs;
	check(neardup_dedup_pairs(d, &pairs, &n, &error));
	for (size_t i = 0; i < n; i++)
		printf("pair %" PRIu64 " %" PRIu64 " %016" PRIx64 " %016" PRIx64 " %" PRIu32 "\n", pairs[i].a, pairs[i].b, bits(pairs[i].similarity), bits(pairs[i].probability), pairs[i].kind);
	neardup_free(pairs);
	neardup_member *members;
	check(neardup_dedup_groups(d, &members, &n, &error));
	for (size_t i = 0; i < n; i++)
		printf("member %" PRIu64 " %" PRIu64 "\n", members[i].id, members[i].keep);
	neardup_free(members);
}

int main(int argc, char **argv) {
	if (argc != 3) return 2;
	printf("%s\n", neardup_version());
	char path[4096];
	snprintf(path, sizeof path, "%s/documents", argv[2]);
	neardup_dedup d = neardup_dedup_new(0, &error), stored = neardup_dedup_open(path, 0, &error);
	check(d == 0 || stored == 0);

	FILE *f = fopen(argv[1], "rb");
	size_t length;
	uint32_t last[128], values[128];
	char *text = NULL;
	uint64_t id = 0;
	while (f != NULL && fscanf(f, "%zu", &length) == 1 && fgetc(f) == '\n') {
		text = realloc(text, length + 1);
		if (fread(text, 1, length, f) != length) return 3;
		uint64_t hi, lo, sum = neardup_sum64(text, length);
		neardup_sum128(text, length, &hi, &lo);
		check(neardup_sign(text, length, values, 128, &error));
		printf("text %016" PRIx64 " %d %016" PRIx64 "%016" PRIx64 " %08" PRIx32 " %08" PRIx32 " %016" PRIx64 "\n", sum, neardup_distance(sum, lo), hi, lo, values[0], values[127], id > 0 ? bits(neardup_jaccard(values, last, 128)) : 0);
		memcpy(last, values, sizeof last);
		size_t n;
		neardup_match *found;
		check(neardup_dedup_search(d, text, length, &found, &n, &error));
		for (size_t i = 0; i < n; i++)
			printf("match %" PRIu64 " %016" PRIx64 " %016" PRIx64 " %" PRIu32 "\n", found[i].id, bits(found[i].similarity), bits(found[i].probability), found[i].kind);
		neardup_free(found);
		check(neardup_dedup_add(d, id, text, length, &error));
		check(neardup_dedup_add(stored, id, text, length, &error));
		id++;
	}
	collection(d);
	check(neardup_dedup_delete(d, 0, &error));
	check(neardup_dedup_delete(d, id + 5, &error)); /* there is none */
	check(neardup_dedup_close(stored, &error));
	stored = neardup_dedup_open(path, 0, &error);
	check(stored == 0 || neardup_dedup_delete(stored, 0, &error));
	collection(stored);

	refused(neardup_dedup_open(path, 0, &error) == 0); /* it is open already */
	refused(neardup_dedup_open("", 0, &error) == 0);
	refused(neardup_dedup_open(NULL, 0, &error) == 0);
	neardup_match *none = (neardup_match *)argv;
	size_t no = 7;
	refused(neardup_dedup_search(12345, "x", 1, &none, &no, &error));
	if (none != NULL || no != 0) return 6; /* it may be freed */
	refused(neardup_dedup_new(2, &error) == 0);
	refused(neardup_sign("x", 1, values, 3, &error));
	refused(neardup_dedup_add(0, 1, "x", 1, &error));
	refused(neardup_dedup_add(12345, 1, "x", 1, &error));
	if (neardup_dedup_new(2, NULL) != 0) return 4; /* nobody wants the message */
	check(neardup_dedup_close(stored, &error) || neardup_dedup_close(d, &error));
	refused(neardup_dedup_close(d, &error));
	if (neardup_sum64(NULL, 0) != 0) return 5;
	free(text);
	neardup_free(NULL);
	return 0;
}
