/* pages.h: answers what browsers ask a collector for. Main thread only. */
#ifndef HK_CLI_LIVE_PAGES_H
#define HK_CLI_LIVE_PAGES_H

#include "cli/live/documents.h"

struct hk_live_answer {
	unsigned status; /* of HTTP */
	const char *type;
	struct hk_live_body body; /* valid until the next call */
};

/* Answers GET PATH of USER ("": all users). Returns 0, or -errno without an answer. */
int hk_live_answer(const char *path, const char *user, struct hk_live_answer *ret_answer);

/* Answers the requests that come from SOCKET until it ends, or none has come for a minute. */
int hk_live_serve(int socket);

#endif
