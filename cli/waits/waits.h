/* waits.h: how long the ranks of a job waited for each other, from its recorded calls. Reads the
 * job's chunk files in bounded memory: at most HK_WAIT_ROWS sums are kept, further ones are
 * counted. One thread.
 */
#ifndef HK_CLI_WAITS_WAITS_H
#define HK_CLI_WAITS_WAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "report/model/strings.h"
#include "report/wait/pattern.h"
#include "schema/wire.pb-c.h"

#define HK_WAIT_ROWS 65536u

/* What one rank waited for another one, in one function and pattern. */
struct hk_wait_row {
	enum hk_wait_pattern pattern;
	const char *function; /* in which it waited */
	int32_t rank, awaited;
	uint64_t waits, wait_ns, longest_ns;
};

struct hk_waits {
	struct hk_report_strings strings;
	struct hk_wait_row *rows; /* the longest waits first */
	size_t count;
	uint64_t left_out;    /* waits without room for a row */
	uint64_t messages;    /* matched */
	uint64_t collectives; /* matched, with more than one rank */
	uint64_t doubtful;    /* of these: their times contradict each other */
	uint64_t alone;	      /* collectives of which one rank's call was found */
	uint64_t lost;	      /* records that are missing: their calls are not matched */
	bool damaged;	      /* records cannot be read: there are no rows */
};

/* Reads the calls of SNAPSHOT's job, whose files lie in DIRECTORY. Returns 0, -EBADMSG if some
 * records are damaged, or -errno. To be freed with hk_waits_fini in every case. */
int hk_waits_read(const Hk__Snapshot *snapshot, const char *directory, struct hk_waits *ret_waits);
void hk_waits_fini(struct hk_waits *waits);

#endif
