/* source.h: where the rows of a comparison come from: a dump of hooktrace or of another tool.
 *
 * A source is one format on disk. A path is one dump of several ranks; each rank's rows are opened
 * as `struct hk_values`. Files are hostile: a source checks everything that it reads. Main thread
 * only.
 */
#ifndef HK_CLI_COMPARE_SOURCE_H
#define HK_CLI_COMPARE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dump/dump.h"

#define HK_SOURCE_REASON_BYTES 512

struct hk_values;

/* Which elements a tool kept of a tensor with more than 2 * EDGE: the first and the last EDGE, and
 * of those between them every STEP-th, from the first. */
struct hk_sampling {
	uint64_t edge, step;
};

/* How the rows of a rank are read. `row` fills ROW, whose texts and shape live until `close`.
 * `elements` returns the elements of row INDEX, contiguous, until the next call for these values;
 * NULL with *REASON, a constant text. `stack` returns the number of frames of a row's stack,
 * innermost first, which live until its next call for these values. */
struct hk_values_ops {
	void (*row)(const struct hk_values *values, size_t index, struct hk_dump_row *row);
	const void *(*elements)(struct hk_values *values, size_t index, const char **reason);
	uint32_t (*stack)(struct hk_values *values, uint32_t stack, const char *const **ret_frames);
	bool (*sampling)(const struct hk_values *values, size_t index,
			 struct hk_sampling *ret_sampling);
	void (*close)(struct hk_values *values);
};

/* A row's digest of 0 means that there is none, its storage of 0 that its memory is unknown. */

/* The rows of one rank, in the order in which the process made them. A source embeds this as the
 * first member of its own structure. */
struct hk_values {
	const struct hk_values_ops *ops;
	size_t count; /* rows; less than 2^32 - 1 */
	uint32_t rank;
	const char *about; /* a JSON object: framework, version, ...; "{}" if the tool wrote none */
	const char *damage; /* why rows may be missing, or NULL */
	bool uncounted; /* NaN and Inf in statistics are not counted: 1 means that there are some,
			   and with NaN nothing is known of Inf */
};

/* One rank of a dump. A rank has several parts if several processes had its number. */
struct hk_source_part {
	uint32_t rank;
	char *path; /* of a file or directory that `open` understands; malloc'd */
};

struct hk_source_parts {
	struct hk_source_part *list; /* malloc'd; ascending ranks after hk_dump_set_open */
	size_t count;
};

struct hk_source {
	const char *name; /* "hooktrace", "msprobe", "ptdbg_ascend" */
	/* Returns whether PATH, a file or a directory, is a dump of this format. It opens few files
	 * and reads little of them. */
	bool (*recognises)(const char *path);
	/* Adds the parts of the dump PATH, at least one, by hk_source_parts_add. Returns 0, or
	 * -errno with REASON. */
	int (*list)(const char *path, struct hk_source_parts *parts,
		    char reason[HK_SOURCE_REASON_BYTES]);
	/* Opens the rows of PART. Returns NULL with REASON. */
	struct hk_values *(*open)(const struct hk_source_part *part,
				  char reason[HK_SOURCE_REASON_BYTES]);
};

/* The sources in the order in which they are asked whether they recognise a path. */
#define HK_SOURCES(X) \
	X(own)        \
	X(msprobe)    \
	X(ptdbg)

#define HK_SOURCE_DECLARE(name) extern const struct hk_source hk_source_##name;
HK_SOURCES(HK_SOURCE_DECLARE)

/* Adds a part with a copy of PATH. Returns 0 or -ENOMEM. */
int hk_source_parts_add(struct hk_source_parts *parts, uint32_t rank, const char *path);
void hk_source_parts_fini(struct hk_source_parts *parts);

/* One side of a comparison. */
struct hk_dump_set {
	const char *path; /* as typed */
	const struct hk_source *source;
	struct hk_source_parts parts;
	struct hk_values **values; /* of each part; NULL until it is opened */
};

/* Finds the source of PATH and its parts. PATH outlives SET. Returns 0, -ENOENT if there is no such
 * path, -EINVAL if no source recognises it, or another -errno, always with REASON. */
int hk_dump_set_open(struct hk_dump_set *set, const char *path,
		     char reason[HK_SOURCE_REASON_BYTES]);
void hk_dump_set_close(struct hk_dump_set *set);

/* The rows of part INDEX, opened at the first call. Returns NULL with REASON. */
struct hk_values *hk_dump_set_values(struct hk_dump_set *set, size_t index,
				     char reason[HK_SOURCE_REASON_BYTES]);

#endif
