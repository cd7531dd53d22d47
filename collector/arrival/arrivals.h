/* arrivals.h: the collective calls of one process, numbered, out of its records.
 *
 * Calls of one communicator and function are numbered from 0 on, as hookcli numbers them when it
 * reads the records. A call with a tag has it for its number: several threads of gloo make the
 * calls of one communicator. A call inside of another call of MPI does not count. Memory is
 * bounded: HK_ARRIVALS_KINDS, HK_ARRIVALS_THREADS, HK_ARRIVALS_WAITING. Calls without room are
 * dropped and counted, and leave a gap in the numbers. Not thread-safe.
 */
#ifndef HK_COLLECTOR_ARRIVAL_ARRIVALS_H
#define HK_COLLECTOR_ARRIVAL_ARRIVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chunk/codec/format.h"
#include "chunk/codec/record.h"
#include "report/wait/doubt.h"
#include "schema/wire.pb-c.h"

#define HK_ARRIVALS_KINDS 256u	   /* of a process */
#define HK_ARRIVALS_FUNCTIONS 128u /* names of a process, each of at most 127 bytes */
#define HK_ARRIVALS_THREADS 64u	   /* that call MPI */
#define HK_ARRIVALS_COMMS 1024u	   /* that the process created */
#define HK_ARRIVALS_WAITING 16384u /* calls until they are taken */

struct hk_arrivals;

struct hk_arrivals_options {
	/* Copies the definition of site ID into *RET_SITE. Its strings are valid until the next
	 * call. Returns 0, or -errno if the site is not known yet. */
	int (*site)(void *context, uint32_t id, struct hk_chunk_site *ret_site);
	void *context;
};

/* Returns NULL without memory. */
struct hk_arrivals *hk_arrivals_new(const struct hk_arrivals_options *options);
/* Frees; accepts NULL, returns NULL. */
struct hk_arrivals *hk_arrivals_free(struct hk_arrivals *arrivals);

/* Looks at sites that are new. Returns whether calls of the process may be collectives. To be
 * called before the records of a run are added. */
bool hk_arrivals_wanted(struct hk_arrivals *arrivals);

/* Adds RECORD if it is of a call of MPI or gloo. Records of a thread come in the order of their
 * ends. The newest call of a thread waits for its next one, which may contain it. Without memory
 * the numbers end, with a reason. */
void hk_arrivals_add(struct hk_arrivals *arrivals, const struct hk_record *record);

/* Stops numbering for REASON: records are missing. Later calls are ignored. */
void hk_arrivals_doubt(struct hk_arrivals *arrivals, enum hk_doubt reason);

/* No more records will come: the newest call of each thread counts too. */
void hk_arrivals_end(struct hk_arrivals *arrivals);

/* Takes up to MOST of the calls of the process STATE, oldest first. Returns 1 with a message that
 * the caller frees by hk__arrivals__free_unpacked, 0 if there is nothing new, or -ENOMEM. */
int hk_arrivals_take(struct hk_arrivals *arrivals, const Hk__Process *state, size_t most,
		     Hk__Arrivals **ret_message);

#endif
