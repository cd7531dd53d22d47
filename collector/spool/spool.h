/* spool.h: the chunk file of one process, <job directory>/<uid>.chunks, and what goes into it and
 * out of it.
 *
 * Opening finds where the last sound chunk ended, cuts what is torn, sets the segment's reader to
 * the positions of that chunk, and makes the ledger what it was: from its checkpoint and the chunks
 * after that, or from all of them. Then runs are put in, and flush makes them a chunk at the end of
 * the file. Pages may be given back to the process after a flush that returned 0, or after a drop.
 * A chunk that cannot be written waits in memory, its pages in the segment. What is lost is
 * derived: records that the reader delivered and that are neither in the file nor waiting. If
 * somebody removes the file another one is begun, and what was in it is lost. Numbers go on there,
 * by what the segment has noted. The oldest chunks may be given up, once a checkpoint holds what
 * they did to the ledger. Not thread-safe.
 */
#ifndef HK_COLLECTOR_SPOOL_SPOOL_H
#define HK_COLLECTOR_SPOOL_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chunk/codec/writer.h"
#include "chunk/read/front.h"
#include "collector/memory/ledger.h"
#include "ring/reader.h"

struct hk_spool;

struct hk_spool_options {
	const char *job_directory;
	const uint8_t *uid;	  /* 16 bytes */
	struct hk_reader *reader; /* refreshed at least once */
	struct hk_ledger
	    *ledger; /* fed with what the file holds and with every run; kept by reference */
	struct hk_chunk_names names;
	double ticks_per_ns;
	bool brought; /* what was in a file that is gone is on a root */
};

/* -errno: the file could not be opened or read; -EPROTO: a newer hooktrace wrote it; -ENOMEM. */
int hk_spool_open(const struct hk_spool_options *options, struct hk_spool **ret_spool);
/* Frees; accepts NULL, returns NULL. What was put and not flushed is forgotten. */
struct hk_spool *hk_spool_free(struct hk_spool *spool);

/* Takes in RUN, of which the reader has delivered nothing further since; writes chunks as they
 * become full. LOST: records the process says it lost so far. ROOM: bytes the file may grow by from
 * here (at most UINT64_MAX / 4). *RET_TAKEN: words of RUN taken in, all of them if 0 is returned.
 * -ENOBUFS: the chunk is larger than ROOM; -ENOMEM; other -errno of writing it. */
int hk_spool_put(struct hk_spool *spool, const struct hk_run *run, uint64_t lost, uint64_t room,
		 size_t *ret_taken);

/* Writes what is left as a chunk; nothing if nothing was put. Errors as of put: what was put waits,
 * for the next flush. */
int hk_spool_flush(struct hk_spool *spool, uint64_t lost, uint64_t room);

/* Gives up the records that wait. Where the chains were read to is kept, in the file if it takes
 * it, else in the next chunk that is written. */
void hk_spool_drop(struct hk_spool *spool, uint64_t lost);

/* Finds out what is lost; to be called when the reader has delivered nothing that was not put. */
void hk_spool_account(struct hk_spool *spool);

/* Looks for the oldest chunk that still has its records; valid until something is put or shed. 1;
 * 0: there is none; -errno. */
int hk_spool_oldest(struct hk_spool *spool, const struct hk_chunk_location **ret_oldest);

/* Gives up what hk_spool_oldest has just found; arguments and errors of hk_chunk_front_evict.
 * -EAGAIN: not now, its checkpoint would come too soon after the last. */
int hk_spool_evict(struct hk_spool *spool, uint32_t flags, bool merge, uint64_t *ret_bytes);

/* The process has ended and its last values are safe: its ledger will not be asked for again. */
void hk_spool_retire(struct hk_spool *spool);

uint64_t hk_spool_bytes(const struct hk_spool *spool); /* where the file ends */
uint64_t hk_spool_held(const struct hk_spool *spool);  /* bytes of it that take room */
/* Records that the file was given, there or not. */
uint64_t hk_spool_records(const struct hk_spool *spool);
/* Records not in the file any more, given up or kept elsewhere. */
uint64_t hk_spool_evicted_records(const struct hk_spool *spool);
uint64_t hk_spool_elsewhere_records(const struct hk_spool *spool);
uint64_t hk_spool_waiting(const struct hk_spool *spool); /* put, and in no chunk yet */
/* Delivered and neither in the file nor waiting, as of the last hk_spool_account. */
uint64_t hk_spool_dropped(const struct hk_spool *spool);
uint32_t hk_spool_files(const struct hk_spool *spool);	/* that were removed under it */
uint64_t hk_spool_number(const struct hk_spool *spool); /* of the last chunk, 0: none */
#endif
