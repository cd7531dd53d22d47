/* known.h: a program's calls of one library, counted before each call and written as truth.h does.
 * Calls that fail are booked as such by the program. */
#ifndef HK_WORKLOADS_KNOWN_H
#define HK_WORKLOADS_KNOWN_H

#include "../truth.h"

static struct truth_table known;

static inline void known_add(const char *function, uint64_t bytes, uint64_t errors)
{
	struct truth_row *row = truth_row(&known, function);

	truth_add(row, bytes, 0);
	row->errors += errors;
}

/* The result of function(arguments...), after the call was counted with its bytes. */
#define KNOWN(bytes, function, ...) \
	(known_add(#function, (uint64_t)(bytes), 0), function(__VA_ARGS__))
/* The same for a call that fails and moves nothing. */
#define KNOWN_FAILURE(function, ...) (known_add(#function, 0, 1), function(__VA_ARGS__))

#define EXPECT(condition)                                                                   \
	do {                                                                                \
		if (!(condition)) {                                                         \
			fprintf(stderr, "%s:%d: not %s\n", __FILE__, __LINE__, #condition); \
			exit(1);                                                            \
		}                                                                           \
	} while (0)

/* Writes DIRECTORY/truth-RANK.json, the calls as those of PROGRAM. */
static inline void known_write(const char *program, const char *directory, int rank)
{
	const char *slash = strrchr(program, '/');
	char path[4096];

	known.library = slash ? slash + 1 : program;
	snprintf(path, sizeof(path), "%s/truth-%d.json", directory, rank);
	FILE *out = fopen(path, "w");
	EXPECT(out);
	fprintf(out, "{\"calls\":{");
	truth_write(out, &known);
	fprintf(out, "}}\n");
	fclose(out);
}

#endif
