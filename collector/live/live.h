/* live.h: the collector's side of the process that makes live pages. One thread; nothing waits. */
#ifndef HK_COLLECTOR_LIVE_LIVE_H
#define HK_COLLECTOR_LIVE_LIVE_H

#include <stdint.h>

#include "schema/page.pb-c.h"

struct hk_live;

/* URL: the collector's own, by which the process asks it; STORE: its directory of jobs. Both must
 * outlive the result. Starts nothing yet. Returns NULL without memory. */
struct hk_live *hk_live_new(const char *url, const char *store);
/* Ends the process. Accepts NULL, returns NULL. */
struct hk_live *hk_live_free(struct hk_live *live);

/* Ends the process: what was asked has no reply. */
void hk_live_end(struct hk_live *live);

/* Readable when an answer has come; -1: there is no process. */
int hk_live_fd(const struct hk_live *live);

/* Asks for PATH as USER sees it ("": all jobs). The reply has NUMBER. Returns 0, -EAGAIN to ask
 * again later, -ENOENT if hookcli is not beside the collector, or another -errno. */
int hk_live_ask(struct hk_live *live, uint64_t number, const char *path, const char *user);

/* Takes a reply, with its body in *RET_BODY, which the caller unmaps. Returns 0, -EAGAIN if there
 * is none now, or -ECHILD: the process ended, and what was asked before has no reply. */
int hk_live_take(struct hk_live *live, Hk__PageReply **ret_reply, char **ret_body);

#endif
