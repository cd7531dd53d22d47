/* statistics.h: the append-only file `statistics` of a job directory. Its frames hold a process
 * (Hk__Process, cumulative), whole or as a change, or the job (Hk__Job). The newest whole frame of
 * a uid replaces older ones, and the changes behind it are merged; the newest frame of the job
 * counts. A frame is 40 bytes of header (magic, length, XXH3-64 of all that follows, kind, zero,
 * uid) and the packed message; all integers little-endian. One writer per file, any number of
 * readers at any time. Opening for append cuts a torn tail. When obsolete frames and changes
 * outweigh live frames twice, a new file with whole processes replaces the old one by rename. */
#ifndef HK_WIRE_STATISTICS_H
#define HK_WIRE_STATISTICS_H

#include <stdint.h>

#include "wire/frames.h"
#include "wire/message.h"

#define HK_STATISTICS_FILE "statistics"
#define HK_STATISTICS_FILE_MAX (1u << 30)

struct hk_statistics;

/* Opens (creates) the file in JOB_DIR for append. Returns 0, -EFBIG if it is larger than
 * HK_STATISTICS_FILE_MAX, or -errno. */
int hk_statistics_open(const char *job_dir, struct hk_statistics **ret_statistics);
/* Closes; accepts NULL, returns NULL. */
struct hk_statistics *hk_statistics_free(struct hk_statistics *statistics);

/* Appends the new state of a process (uid of 16 bytes) or of the job, whole or not at all. A
 * process larger than HK_STATISTICS_FRAME_MAX is appended in pieces (wire/parts.h), those that the
 * file lacks; after an error some of them may be in the file, and the older state stays valid.
 * Returns 0, -EINVAL for a bad uid, -EMSGSIZE if the job is over HK_STATISTICS_FRAME_MAX, or
 * -ENOSPC and other -errno: append it again later. */
int hk_statistics_put_process(struct hk_statistics *statistics, const Hk__Process *process);
/* Appends a change of a process (wire/change.h), to be merged with all its frames before. */
int hk_statistics_put_change(struct hk_statistics *statistics, const Hk__Process *change);
int hk_statistics_put_job(struct hk_statistics *statistics, const Hk__Job *job);

/* Returns the bytes of the file. */
uint64_t hk_statistics_file_bytes(const struct hk_statistics *statistics);

/* Reads the newest state of everything in JOB_DIR; the caller frees it with
 * hk__snapshot__free_unpacked. `job` is always set (from the directory's name if frames are
 * missing); `directory` is the one read. Returns 0, -ENOENT if there is no such job directory,
 * -EBADMSG if it is damaged or torn, with *ret_snapshot holding the readable part (unchanged if
 * there is no such part), or -errno. */
int hk_statistics_load(const char *job_dir, Hk__Snapshot **ret_snapshot);

#endif
