/* job_stream.h: a job that is read from a stream engine: nats://HOST[:PORT][,...]/JOB.
 *
 * hookcollector reads it into a directory of its own, which is removed when the program ends. Main
 * thread only.
 */
#ifndef HK_CLI_JOB_JOB_STREAM_H
#define HK_CLI_JOB_JOB_STREAM_H

#include <limits.h>
#include <stdbool.h>

/* Whether NAME is such a URL. */
bool hk_job_stream_is(const char *name);

/* Reads the job of URL NAME, and sets PATH to its directory. Returns HK_EXIT_DONE, or another exit
 * code after a message. */
int hk_job_stream_read(const char *name, char path[PATH_MAX]);

#endif
