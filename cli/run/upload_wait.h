/* upload_wait.h: the end of a job whose own collector brings it to a root. Main thread only.
 */
#ifndef HK_CLI_RUN_UPLOAD_WAIT_H
#define HK_CLI_RUN_UPLOAD_WAIT_H

#include <stdbool.h>

struct hk_session;

/* Waits until the root has all of the closed job of KEEPER, whose command ended with STATUS: not
 * for long if the root cannot be reached or a launcher is about to end everything. False: it has
 * not, which one line on stderr says; then the collector must be left alone, for it goes on. */
bool hk_upload_await(const struct hk_session *session, int status);

#endif
