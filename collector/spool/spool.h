/* spool.h: writes and evicts the chunks of one process's file, <job directory>/<uid>.chunks.
 *
 * Opening finds the end of the last intact chunk, cuts off a torn one, and sets the segment's
 * reader to the positions of that chunk. It restores the ledger from its checkpoint and the chunks
 * after that, or from all chunks. Then runs are put in, and a flush writes them as a chunk at the
 * end of the file. Pages may be given back to the process after a flush that returned 0, or after a
 * drop. A chunk that cannot be written waits in memory, and its pages wait in the segment. The
 * number of lost records is derived: records that the reader delivered and that are neither in the
 * file nor waiting. If the file is removed, its records are lost, and a new file continues the
 * chunk numbers, which the segment holds too. The oldest chunks may be evicted, once a checkpoint
 * holds their effect on the ledger. Not thread-safe.
 */
#ifndef HK_COLLECTOR_SPOOL_SPOOL_H
#define HK_COLLECTOR_SPOOL_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chunk/codec/writer.h"
#include "chunk/read/front.h"
#include "collector/agreement/rows.h"
#include "collector/arrival/arrivals.h"
#include "collector/memory/ledger.h"
#include "ring/reader.h"
#include "schema/wire.pb-c.h"

struct hk_spool;

struct hk_spool_options {
	const char *job_directory;
	const uint8_t *uid;	  /* 16 bytes */
	struct hk_reader *reader; /* refreshed at least once */
	struct hk_ledger
	    *ledger;	      /* gets the records of the file and of every run; kept by reference */
	struct hk_rows *rows; /* gets the records of every run; kept by reference */
	struct hk_arrivals *arrivals; /* the same */
	struct hk_chunk_names names;
	double ticks_per_ns;
	bool brought; /* what was in a file that is gone is on a root */
};

/* Returns 0, -EPROTO if a newer hooktrace wrote the file, -ENOMEM, or -errno if it could not be
 * opened or read. */
int hk_spool_open(const struct hk_spool_options *options, struct hk_spool **ret_spool);
/* Frees; accepts NULL, returns NULL. Records that were put and not flushed are dropped. */
struct hk_spool *hk_spool_free(struct hk_spool *spool);

/* Puts RUN in, which must be the reader's newest, and writes chunks as they become full. LOST is
 * the number of records that the process has lost so far. ROOM is the number of bytes by which the
 * file may grow (at most UINT64_MAX / 4). Sets *RET_TAKEN to the words of RUN that were put in, all
 * of them on success. Returns 0, -ENOBUFS if the chunk is larger than ROOM, -ENOMEM, or another
 * -errno of writing. */
int hk_spool_put(struct hk_spool *spool, const struct hk_run *run, uint64_t lost, uint64_t room,
		 size_t *ret_taken);

/* Writes the remaining records as a chunk, if there are any. Returns as put does. After an error
 * the records wait for the next flush. */
int hk_spool_flush(struct hk_spool *spool, uint64_t lost, uint64_t room);

/* Drops the waiting records. The positions up to which chains were read are kept: in the file if it
 * can be written, else in the next chunk. */
void hk_spool_drop(struct hk_spool *spool, uint64_t lost);

/* Counts the lost records. Call it when all records of the reader were put. */
void hk_spool_account(struct hk_spool *spool);

/* Finds the oldest chunk that still has its records. The result is valid until the next put or
 * eviction. Returns 1, 0 if there is none, or -errno. */
int hk_spool_oldest(struct hk_spool *spool, const struct hk_chunk_location **ret_oldest);

/* Evicts the chunk that hk_spool_oldest has just found. Arguments and results are those of
 * hk_chunk_front_evict. Also returns -EAGAIN if its checkpoint would come too soon after the last
 * one. */
int hk_spool_evict(struct hk_spool *spool, uint32_t flags, bool merge, uint64_t *ret_bytes);

/* Notes that the process has ended and its last values are stored: its ledger is not needed again.
 */
void hk_spool_retire(struct hk_spool *spool);

uint64_t hk_spool_bytes(const struct hk_spool *spool); /* where the file ends */
uint64_t hk_spool_held(const struct hk_spool *spool);  /* bytes of it that take room */
/* Records that the file was given, there or not. */
uint64_t hk_spool_records(const struct hk_spool *spool);
/* Returns the number of records that were in the file and were evicted, or that are kept elsewhere.
 */
uint64_t hk_spool_evicted_records(const struct hk_spool *spool);
uint64_t hk_spool_elsewhere_records(const struct hk_spool *spool);
uint64_t hk_spool_waiting(const struct hk_spool *spool); /* put, and in no chunk yet */
/* Returns the number of records that were delivered and are neither in the file nor waiting, as of
 * the last hk_spool_account. */
uint64_t hk_spool_dropped(const struct hk_spool *spool);
uint32_t hk_spool_files(const struct hk_spool *spool); /* that were removed under it */
/* Brings the message *STATE of the steps that the process marked up to date. Returns 0 or -ENOMEM.
 */
int hk_spool_steps(struct hk_spool *spool, Hk__StepTimes **state);
uint64_t hk_spool_number(const struct hk_spool *spool); /* of the last chunk, 0: none */
#endif
