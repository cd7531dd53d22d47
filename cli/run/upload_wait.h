/* upload_wait.h: the end of a job whose own collector brings it to a root. Main thread only.
 */
#ifndef HK_CLI_RUN_UPLOAD_WAIT_H
#define HK_CLI_RUN_UPLOAD_WAIT_H

#include <stdbool.h>

struct hk_session;

/* Waits until the root has all of the closed job of KEEPER, whose command ended with STATUS: only
 * briefly if the root cannot be reached or a launcher is about to end everything. Returns false if
 * data is missing, after a line on stderr; the caller must then leave the collector alone, because
 * it continues. */
bool hk_upload_await(const struct hk_session *session, int status);

#endif
