#include "cli/live/documents.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/command.h"
#include "cli/html/html.h"
#include "cli/job/job_open.h"
#include "report/build/build.h"
#include "wire/live/page_link.h"

#define DOCUMENTS 16u
#define SPACING 20u /* a document is good for this many times the processor time that it took */
#define FRESH_NS UINT64_C(900000000) /* pages ask each second */
#define MS_NS 1000000u
#define RECORDS (UINT64_C(1) << 17) /* read for the timeline, at most */

struct document {
	char *id, *user; /* as asked; user of the job. NULL: unused */
	struct hk_live_body body;
	uint64_t until_ns; /* monotonic: no newer one is made before */
	uint64_t cost_ns;
};

static struct document documents[DOCUMENTS] = {[0 ... DOCUMENTS - 1] = {.body.fd = -1}};

/* ---- bodies ---- */

int hk_live_body_make(const char *text, uint64_t size, struct hk_live_body *ret_body)
{
	int fd = hk_page_body_make(text, size);

	if (fd < 0) {
		return fd;
	}
	*ret_body = (struct hk_live_body){fd, size};
	return 0;
}

void hk_live_body_fini(struct hk_live_body *body)
{
	if (body->fd >= 0) {
		close(body->fd);
	}
	*body = (struct hk_live_body){.fd = -1};
}

/* ---- one document ---- */

static void forget(struct document *document)
{
	free(document->id);
	free(document->user);
	hk_live_body_fini(&document->body);
	*document = (struct document){.body.fd = -1};
}

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t good_for_ns(uint64_t cost_ns)
{
	uint64_t spaced = cost_ns * SPACING;

	return spaced > FRESH_NS ? spaced : FRESH_NS;
}

/* Writes the document of JOB. COST_NS: what an earlier one took, which tells when the next can be
 * asked for. */
static int write_document(const struct hk_job *job, uint64_t cost_ns, FILE *output)
{
	struct hk_json json = {.output = output};
	struct hk_report *report;
	struct timespec now;
	int r = hk_report_new(job->snapshot, &report);

	if (r < 0) {
		return r;
	}
	clock_gettime(CLOCK_REALTIME, &now);
	hk_json_open(&json, NULL, '{');
	hk_json_bool(&json, "live", job->live);
	hk_json_uint(&json, "made_unix_ns",
		     (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
	hk_json_uint(&json, "next_ms", good_for_ns(cost_ns) / MS_NS);
	fputs(",\"document\":", output);
	r = hk_html_write_data(report, job->snapshot, job->elsewhere ? NULL : job->directory,
			       RECORDS, output);
	hk_json_close(&json, '}');
	hk_report_free(report);
	return r;
}

/* Makes the body of DOCUMENT from JOB. */
static int make(struct document *document, const struct hk_job *job, uint64_t begin_ns)
{
	struct hk_live_body body;
	char *text = NULL;
	size_t size = 0;
	FILE *output = open_memstream(&text, &size);

	if (!output) {
		return -ENOMEM;
	}
	int r = write_document(job, document->cost_ns, output);
	r = fclose(output) != 0 && r == 0 ? -ENOMEM : r;
	r = r == 0 ? hk_live_body_make(text, size, &body) : r;
	free(text);
	if (r < 0) {
		return r;
	}
	hk_live_body_fini(&document->body);
	document->body = body;
	document->cost_ns = cpu_ns() - begin_ns;
	document->until_ns = hk_clock_monotonic_ns() + good_for_ns(document->cost_ns);
	return 0;
}

static int job_error(int code)
{
	return code == HK_EXIT_ABSENT ? -ENOENT : -EIO;
}

/* Loads the job of DOCUMENT and makes a newer body. */
static int renew(struct document *document)
{
	uint64_t begin = cpu_ns();
	struct hk_job job;
	int code = hk_job_open(document->id, &job);

	if (code != HK_EXIT_DONE) {
		return job_error(code);
	}
	free(document->user);
	document->user = strdup(job.snapshot->job->user);
	int r = document->user ? make(document, &job, begin) : -ENOMEM;
	hk_job_close(&job);
	return r;
}

/* ---- all ---- */

/* Returns the document of ID, or the unused one, or the one that was made longest ago. */
static struct document *find(const char *id)
{
	struct document *oldest = &documents[0];

	for (size_t i = 0; i < DOCUMENTS; i++) {
		struct document *one = &documents[i];
		if (one->id && strcmp(one->id, id) == 0) {
			return one;
		}
		oldest = one->until_ns < oldest->until_ns ? one : oldest;
	}
	forget(oldest);
	oldest->id = strdup(id);
	return oldest;
}

int hk_live_document(const char *id, const char *user, struct hk_live_body *ret_body)
{
	struct document *document = find(id);
	int r = document->id ? 0 : -ENOMEM;

	if (r == 0 && hk_clock_monotonic_ns() >= document->until_ns) {
		r = renew(document);
	}
	if (r == 0 && *user && strcmp(document->user, user) != 0) {
		return -ENOENT; /* the job is another user's */
	}
	if (r < 0) {
		forget(document);
		return r;
	}
	*ret_body = document->body;
	return 0;
}
