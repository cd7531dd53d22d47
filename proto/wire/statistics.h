/* statistics.h: the append-only file `statistics` of a job directory.
 *
 * Frames of one process (Hk__Process, cumulative), whole or what has changed of it, or of the job
 * (Hk__Job): the newest whole frame of a uid replaces the older ones, the changes behind it are
 * merged; the newest of the job holds. A frame is 40 bytes of header (magic, length, XXH3-64 of all
 * that follows, kind, zero, uid) and the packed message; all integers little-endian. One writer per
 * file, any number of readers at any time. Opening for append cuts a torn tail; when dead frames
 * and changes outweigh live frames twice, each process is written anew, whole, and the file renamed
 * into place.
 */
#ifndef HK_WIRE_STATISTICS_H
#define HK_WIRE_STATISTICS_H

#include <stdint.h>

#include "wire/frames.h"
#include "wire/message.h"

#define HK_STATISTICS_FILE "statistics"
#define HK_STATISTICS_FILE_MAX (1u << 30)

struct hk_statistics;

/* Opens (creates) the file in JOB_DIR for append. -EFBIG: larger than HK_STATISTICS_FILE_MAX;
 * -errno. */
int hk_statistics_open(const char *job_dir, struct hk_statistics **ret_statistics);
/* Closes; accepts NULL, returns NULL. */
struct hk_statistics *hk_statistics_free(struct hk_statistics *statistics);

/* Appends the new state of a process (uid of 16 bytes) or of the job; whole or not at all. A
 * process larger than HK_STATISTICS_FRAME_MAX is appended in pieces (wire/parts.h), those that the
 * file does not have yet; after an error some of them may be there, and what was there before still
 * holds. -EINVAL: uid; -EMSGSIZE: the job is over HK_STATISTICS_FRAME_MAX; -ENOSPC and other
 * -errno: to be put again. */
int hk_statistics_put_process(struct hk_statistics *statistics, const Hk__Process *process);
/* Appends a change of a process (wire/change.h), to be merged with all frames of it before. */
int hk_statistics_put_change(struct hk_statistics *statistics, const Hk__Process *change);
int hk_statistics_put_job(struct hk_statistics *statistics, const Hk__Job *job);

/* Bytes of the file, and bytes of frames still valid in it. */
uint64_t hk_statistics_file_bytes(const struct hk_statistics *statistics);
uint64_t hk_statistics_live_bytes(const struct hk_statistics *statistics);

/* Reads the newest state of everything in JOB_DIR; the caller frees it with
 * hk__snapshot__free_unpacked. `job` is always set (from the directory's name when no frame says
 * more), `directory` is where it was found. -ENOENT: no such job directory; -EBADMSG: damaged or
 * torn, and then *ret_snapshot holds what could be read, or is left alone if that is nothing;
 * -errno. */
int hk_statistics_load(const char *job_dir, Hk__Snapshot **ret_snapshot);

#endif
