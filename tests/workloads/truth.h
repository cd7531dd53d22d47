/*
 * What a test program knows about its own calls: one table per object file (program, library,
 * plugin), one row per function, with calls, errors, bytes and the time measured around each call.
 * Written as JSON at the end and compared with what hooktrace saw. One thread per table. The names
 * are string literals and the tables are static: nothing here allocates.
 */
#ifndef HK_WORKLOADS_TRUTH_H
#define HK_WORKLOADS_TRUTH_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TRUTH_ROWS 64

struct truth_row {
	const char *function;
	uint64_t calls;
	uint64_t errors;
	uint64_t bytes;
	uint64_t total_ns;
	uint64_t max_ns;
};

struct truth_table {
	const char *library; /* base name of the object whose calls these are */
	struct truth_row rows[TRUTH_ROWS];
};

static inline uint64_t truth_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/* The row of a function, which is made at its first call. Literals of one object file share an
 * address or get two rows. */
static inline struct truth_row *truth_row(struct truth_table *table, const char *function)
{
	for (unsigned i = 0; i < TRUTH_ROWS; i++) {
		struct truth_row *row = &table->rows[i];

		if (!row->function) {
			row->function = function;
		}
		if (strcmp(row->function, function) == 0) {
			return row;
		}
	}
	fprintf(stderr, "truth: more than %d functions\n", TRUTH_ROWS);
	abort();
}

static inline void truth_add(struct truth_row *row, uint64_t bytes, uint64_t elapsed_ns)
{
	row->calls++;
	row->bytes += bytes;
	row->total_ns += elapsed_ns;
	if (elapsed_ns > row->max_ns) {
		row->max_ns = elapsed_ns;
	}
}

/* Makes one call function(args...) and books it; a result other than 0 ends the program. */
#define TRUTH_CALL(table, bytes, function, ...)                                             \
	do {                                                                                \
		struct truth_row *truth_row_ = truth_row((table), #function);               \
		uint64_t truth_start_ = truth_now_ns();                                     \
		int truth_result_ = function(__VA_ARGS__);                                  \
		truth_add(truth_row_, (uint64_t)(bytes), truth_now_ns() - truth_start_);    \
		if (truth_result_ != 0) {                                                   \
			fprintf(stderr, "%s: %s failed: %d\n", (table)->library, #function, \
				truth_result_);                                             \
			abort();                                                            \
		}                                                                           \
	} while (0)

/* "library":{"function":{"calls":..,"errors":..,"bytes":..,"total_ns":..,"max_ns":..},...} */
static inline void truth_write(FILE *out, const struct truth_table *table)
{
	fprintf(out, "\"%s\":{", table->library);
	for (unsigned i = 0; i < TRUTH_ROWS && table->rows[i].function; i++) {
		const struct truth_row *row = &table->rows[i];

		fprintf(out,
			"%s\n\"%s\":{\"calls\":%llu,\"errors\":%llu,\"bytes\":%llu,\"total_ns\":%"
			"llu,\"max_ns\":%"
			"llu}",
			i > 0 ? "," : "", row->function, (unsigned long long)row->calls,
			(unsigned long long)row->errors, (unsigned long long)row->bytes,
			(unsigned long long)row->total_ns, (unsigned long long)row->max_ns);
	}
	fprintf(out, "}");
}

#endif
