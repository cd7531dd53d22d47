#include "cli/live/documents.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/command.h"
#include "cli/html/document.h"
#include "cli/html/html.h"
#include "cli/job/job_open.h"
#include "cli/job/job_snapshot.h"
#include "cli/job/job_summary.h"
#include "report/build/build.h"
#include "wire/live/page_link.h"

#define DOCUMENTS 16u
/* A body is good for this many times the processor time that it took here; the collector spends
 * some on it too. */
#define SPACING_WHOLE 100u
#define SPACING_NEWS 60u
#define FRESH_NS UINT64_C(900000000) /* pages ask each second */
#define MS_NS 1000000u
#define RECORDS (UINT64_C(1) << 17) /* read for the timeline, at most */

/* A body that is made again when it may be. */
struct renewed {
	struct hk_live_body body;
	uint64_t until_ns; /* monotonic: no newer one is made before */
};

struct document {
	char *id, *user; /* of the job; whose jobs are visible, "": all. NULL: unused */
	struct renewed whole, news;
};

#define UNUSED                                           \
	{                                                \
		.whole.body.fd = -1, .news.body.fd = -1, \
	}
static struct document documents[DOCUMENTS] = {[0 ... DOCUMENTS - 1] = UNUSED};

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
	hk_live_body_fini(&document->whole.body);
	hk_live_body_fini(&document->news.body);
	*document = (struct document)UNUSED;
}

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t unix_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Makes the body of RENEWED: what WRITE writes of JOB, and in how many milliseconds there may be a
 * newer one. BEGIN_NS: processor time before the job was loaded. */
static int make(struct renewed *renewed, const struct hk_job *job, uint64_t begin_ns,
		unsigned spacing, int (*write)(const struct hk_job *job, FILE *output))
{
	struct hk_live_body body;
	struct hk_json json = {0};
	char *text = NULL;
	size_t size = 0;

	json.output = open_memstream(&text, &size);
	if (!json.output) {
		return -ENOMEM;
	}
	hk_json_open(&json, NULL, '{');
	hk_json_bool(&json, "live", job->live);
	hk_json_uint(&json, "made_unix_ns", unix_ns());
	fputs(",\"document\":", json.output);
	int r = write(job, json.output);
	uint64_t good_ns = (cpu_ns() - begin_ns) * spacing;
	good_ns = good_ns > FRESH_NS ? good_ns : FRESH_NS;
	hk_json_uint(&json, "next_ms", good_ns / MS_NS);
	hk_json_close(&json, '}');
	r = fclose(json.output) != 0 && r == 0 ? -ENOMEM : r;
	r = r == 0 ? hk_live_body_make(text, size, &body) : r;
	free(text);
	if (r < 0) {
		return r;
	}
	hk_live_body_fini(&renewed->body);
	renewed->body = body;
	renewed->until_ns = hk_clock_monotonic_ns() + good_ns;
	return 0;
}

static int write_whole(const struct hk_job *job, FILE *output)
{
	struct hk_report *report;
	int r = hk_report_new(job->snapshot, &report);

	if (r < 0) {
		return r;
	}
	r = hk_html_write_data(report, job->snapshot, job->elsewhere ? NULL : job->directory,
			       RECORDS, output);
	hk_report_free(report);
	return r;
}

/* Sums calls by KEYS: from a rollup by these, or from whole calls. */
static int groups_of(struct hk_groups *groups, const Hk__Snapshot *snapshot,
		     const struct hk_report *report, unsigned keys)
{
	return snapshot->folded ? hk_groups_of_functions(groups, snapshot, report)
				: hk_groups_init(groups, report, keys);
}

/* Sums the calls of JOB by domain and rank. *RET_RESPONSE, which the caller frees, has the texts.
 */
static int domains_of(struct hk_groups *groups, const struct hk_job *job,
		      const struct hk_report *report, Hk__Response **ret_response)
{
	Hk__SnapshotRequest what = HK__SNAPSHOT_REQUEST__INIT;

	if (!job->snapshot->folded) {
		return hk_groups_init(groups, report, HK_HTML_DOMAIN_KEYS);
	}
	what.job = job->snapshot->job->id;
	what.by_function = what.no_processes = what.no_histograms = true;
	what.fold_keys = HK_HTML_DOMAIN_KEYS;
	int r = hk_job_snapshot_request_as(job->url, &what, ret_response);
	return r < 0 ? r : hk_groups_of_functions(groups, (*ret_response)->snapshot, report);
}

static int write_news(const struct hk_job *job, FILE *output)
{
	struct hk_groups functions = {0}, domains = {0};
	Hk__Response *response = NULL;
	struct hk_report *report;
	int r = hk_report_new(job->snapshot, &report);

	if (r < 0) {
		return r;
	}
	r = groups_of(&functions, job->snapshot, report, HK_HTML_FUNCTION_KEYS);
	r = r < 0 ? r : domains_of(&domains, job, report, &response);
	r = r < 0 ? r : hk_html_news_write(report, &functions, &domains, output);
	hk_groups_fini(&functions);
	hk_groups_fini(&domains);
	if (response) {
		hk__response__free_unpacked(response, NULL);
	}
	hk_report_free(report);
	return r;
}

/* Loads the job whose id is ID from the collector's store. */
static int load_stored(const char *id, struct hk_job *job)
{
	char path[PATH_MAX];
	const char *store = hk_command_setting("store");

	if (snprintf(path, sizeof(path), "%s/%s", store, id) >= (int)sizeof(path) ||
	    !hk_job_summary_is_job(path)) {
		return -ENOENT;
	}
	return hk_job_open(path, job) == HK_EXIT_DONE ? 0 : -EIO;
}

/* Replaces JOB, of which this collector has one node's part, by the whole. */
static int complete(struct hk_job *job)
{
	char *path = strdup(job->snapshot->job->whole);

	hk_job_close(job);
	*job = (struct hk_job){0};
	int r = path && hk_job_open(path, job) == HK_EXIT_DONE ? 0 : -EIO;
	free(path);
	return r;
}

/* Loads the job with this ID that USER may see, and no other. NEWS: with sums of its calls. */
static int load(const char *id, const char *user, bool news, struct hk_job *ret_job)
{
	const char *url = hk_command_setting("collector");
	Hk__SnapshotRequest what = HK__SNAPSHOT_REQUEST__INIT;
	Hk__Response *response = NULL;
	struct hk_job job = {0};

	what.job = (char *)(uintptr_t)id;
	what.exact = true;
	what.user = (char *)(uintptr_t)user;
	what.by_function = news;
	what.fold_keys = news ? HK_HTML_FUNCTION_KEYS : 0;
	what.memory_series = !news;
	int r = hk_job_snapshot_request_as(url, &what, &response);
	if (r == 0) {
		hk_job_snapshot_take(&job, response, url);
		r = *job.snapshot->job->whole ? complete(&job) : 0;
	} else if (r == -ENOENT && !*user) {
		r = load_stored(id, &job);
	}
	if (response) {
		hk__response__free_unpacked(response, NULL);
	}
	if (r == 0) {
		*ret_job = job;
	}
	return r;
}

int hk_live_load(const char *id, const char *user, struct hk_job *ret_job)
{
	return load(id, user, false, ret_job);
}

/* Makes RENEWED, the whole document or the news of DOCUMENT. */
static int renew(struct document *document, struct renewed *renewed)
{
	bool news = renewed == &document->news;
	uint64_t begin = cpu_ns();
	struct hk_job job;
	int r = load(document->id, document->user, news, &job);

	if (r < 0) {
		return r;
	}
	r = make(renewed, &job, begin, news ? SPACING_NEWS : SPACING_WHOLE,
		 news ? write_news : write_whole);
	if (news && !job.live) {
		document->whole.until_ns = 0; /* it is to show the end, too */
	}
	hk_job_close(&job);
	return r;
}

/* ---- all ---- */

static uint64_t newest_ns(const struct document *document)
{
	return document->whole.until_ns > document->news.until_ns ? document->whole.until_ns
								  : document->news.until_ns;
}

/* Returns the document of ID for USER, or an unused one, or the one that was made longest ago. */
static struct document *find(const char *id, const char *user)
{
	struct document *oldest = &documents[0];

	for (size_t i = 0; i < DOCUMENTS; i++) {
		struct document *one = &documents[i];
		if (one->id && strcmp(one->id, id) == 0 && strcmp(one->user, user) == 0) {
			return one;
		}
		bool older = !one->id || newest_ns(one) < newest_ns(oldest);
		oldest = oldest->id && older ? one : oldest;
	}
	forget(oldest);
	oldest->id = strdup(id);
	oldest->user = strdup(user);
	return oldest;
}

static int answer(const char *id, const char *user, bool news, struct hk_live_body *ret_body)
{
	struct document *document = find(id, user);
	struct renewed *renewed = news ? &document->news : &document->whole;
	int r = document->id && document->user ? 0 : -ENOMEM;

	if (r == 0 && hk_clock_monotonic_ns() >= renewed->until_ns) {
		r = renew(document, renewed);
	}
	if (r < 0) {
		forget(document);
		return r;
	}
	*ret_body = renewed->body;
	return 0;
}

int hk_live_document(const char *id, const char *user, struct hk_live_body *ret_body)
{
	return answer(id, user, false, ret_body);
}

int hk_live_news(const char *id, const char *user, struct hk_live_body *ret_body)
{
	return answer(id, user, true, ret_body);
}
