/* upload_wait.h: waits for a job whose private collector brings it to a root. Main thread only. */
#ifndef HK_CLI_RUN_UPLOAD_WAIT_H
#define HK_CLI_RUN_UPLOAD_WAIT_H

#include <stdbool.h>

struct hk_session;

/* Waits until the root has all of the closed job of SESSION, whose command ended with STATUS. It
 * waits only briefly if the root cannot be reached or a launcher is about to end all processes.
 * Returns false after a line on stderr if data is missing there. The caller must then let the
 * collector run on, which keeps trying. */
bool hk_upload_await(const struct hk_session *session, int status);

#endif
