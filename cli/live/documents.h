/* documents.h: documents of jobs for live pages, each kept until a newer one may be made. Main
 * thread only. */
#ifndef HK_CLI_LIVE_DOCUMENTS_H
#define HK_CLI_LIVE_DOCUMENTS_H

#include <stdint.h>

#include "cli/job/job.h"

/* The body of an answer: a sealed memory file. */
struct hk_live_body {
	int fd; /* -1: none */
	uint64_t size;
};

/* Sets *RET_BODY to the newest document of the job called ID that USER ("": all users) may see; it
 * stays valid until the next call. Returns 0, -ENOENT without such a job, or another -errno. */
int hk_live_document(const char *id, const char *user, struct hk_live_body *ret_body);

/* The same of the job's news: the members of its document that a job of many ranks can have
 * renewed often. */
int hk_live_news(const char *id, const char *user, struct hk_live_body *ret_body);

/* Loads the job called ID that USER ("": all users) may see, with all its calls. The caller closes
 * it. Returns 0, -ENOENT without such a job, or another -errno. */
int hk_live_load(const char *id, const char *user, struct hk_job *ret_job);

/* Writes SIZE bytes at TEXT to a new body. Returns 0 or -errno. */
int hk_live_body_make(const char *text, uint64_t size, struct hk_live_body *ret_body);

/* Closes BODY, which may be none. */
void hk_live_body_fini(struct hk_live_body *body);

#endif
