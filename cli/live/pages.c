#include "cli/live/pages.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/command.h"
#include "cli/html/html.h"
#include "cli/job/collectors.h"
#include "cli/job/job_list.h"
#include "cli/live/finding_series.h"
#include "text/json_stream.h"
#include "wire/live/page_link.h"

#define HTML "text/html; charset=utf-8"
#define JSON "application/json"
#define PLAIN "text/plain; charset=utf-8"
#define IDLE_MS 60000
#define ID_BYTES 256u
#define LISTS 8u		     /* of jobs, for different users */
#define LIST_NS UINT64_C(1500000000) /* how long a list is good; or as many times what it took: */
#define LIST_SPACING 60u
#define SERIES_SPACING 100u /* of findings */
#define JOBS "/jobs"
#define DATA "/data"
#define NEWS "/news"
#define FINDINGS "/findings"

/* The bodies that are made once, and those that change. */
static struct hk_live_body job_page = {.fd = -1}, jobs_page = {.fd = -1}, words = {.fd = -1};
static struct list {
	struct hk_live_body body;
	char *user;
	uint64_t until_ns; /* monotonic */
} lists[LISTS] = {[0 ... LISTS - 1] = {.body.fd = -1}},
  series[LISTS] = {[0 ... LISTS - 1] = {.body.fd = -1}};

/* ---- bodies ---- */

/* Sets BODY to what WRITE writes about SUBJECT. */
static int body_write(int (*write)(const void *subject, FILE *output), const void *subject,
		      struct hk_live_body *body)
{
	char *text = NULL;
	size_t size = 0;
	FILE *output = open_memstream(&text, &size);

	if (!output) {
		return -ENOMEM;
	}
	int r = write(subject, output);
	r = fclose(output) != 0 && r == 0 ? -ENOMEM : r;
	if (r == 0) {
		hk_live_body_fini(body);
		r = hk_live_body_make(text, size, body);
	}
	free(text);
	return r;
}

static int job_page_write(const void *subject, FILE *output)
{
	(void)subject;
	return hk_html_write_live(output);
}

static int jobs_page_write(const void *subject, FILE *output)
{
	(void)subject;
	return hk_html_write_jobs(output);
}

static int words_write(const void *subject, FILE *output)
{
	return fprintf(output, "%s\n", (const char *)subject) < 0 ? -EIO : 0;
}

static int say(unsigned status, const char *text, struct hk_live_answer *answer)
{
	int r = body_write(words_write, text, &words);

	*answer = (struct hk_live_answer){status, PLAIN, words};
	return r;
}

static int page(int (*write)(const void *subject, FILE *output), struct hk_live_body *body,
		struct hk_live_answer *answer)
{
	int r = body->fd >= 0 ? 0 : body_write(write, NULL, body);

	*answer = (struct hk_live_answer){200, HTML, *body};
	return r;
}

/* ---- the list of jobs ---- */

static void job_write(struct hk_json *json, const struct hk_job_entry *entry)
{
	hk_json_open(json, NULL, '{');
	hk_json_string(json, "id", entry->id);
	hk_json_string(json, "state", entry->state);
	hk_json_string(json, "command", entry->command);
	hk_json_uint(json, "start_unix_ns", entry->start_unix_ns);
	hk_json_uint(json, "duration_ns", entry->duration_ns);
	hk_json_int(json, "world_size", entry->world_size);
	hk_json_bool(json, "live", entry->live);
	hk_json_close(json, '}');
}

static int list_write(const void *subject, FILE *output)
{
	const char *user = subject;
	struct hk_json json = {.output = output};
	struct hk_job_list *jobs = hk_job_list_new();
	char store[PATH_MAX];

	if (!jobs) {
		return -ENOMEM;
	}
	(void)hk_job_list_add_collectors(jobs); /* without an answer the store's are shown */
	if (hk_collectors_store(store) == 0) {
		hk_job_list_add_store(jobs, store, "");
	}
	hk_json_open(&json, NULL, '{');
	hk_json_open(&json, "jobs", '[');
	for (size_t i = 0; i < jobs->count; i++) {
		if (!*user || strcmp(jobs->entries[i].user, user) == 0) {
			job_write(&json, &jobs->entries[i]);
		}
	}
	hk_json_close(&json, ']');
	hk_json_close(&json, '}');
	hk_job_list_free(jobs);
	return 0;
}

/* Returns the one of ALL that is USER's, or the one that is good for the shortest time. */
static struct list *list_of(struct list all[LISTS], const char *user)
{
	struct list *found = &all[0];

	for (size_t i = 0; i < LISTS; i++) {
		if (all[i].user && strcmp(all[i].user, user) == 0) {
			return &all[i];
		}
		found = all[i].until_ns < found->until_ns ? &all[i] : found;
	}
	hk_live_body_fini(&found->body);
	free(found->user);
	*found = (struct list){.body.fd = -1};
	found->user = strdup(user);
	return found;
}

/* Answers with what WRITE writes for USER, which is kept in ALL for SPACING times what it took. */
static int listed(int (*write)(const void *subject, FILE *output), struct list all[LISTS],
		  unsigned spacing, const char *user, struct hk_live_body *ret_body)
{
	uint64_t begin = hk_clock_monotonic_ns();
	struct list *list = list_of(all, user);
	int r = list->user ? 0 : -ENOMEM;

	if (r == 0 && begin >= list->until_ns) {
		r = body_write(write, user, &list->body);
		uint64_t now = hk_clock_monotonic_ns(), spaced = (now - begin) * spacing;
		list->until_ns = r < 0 ? 0 : now + (spaced > LIST_NS ? spaced : LIST_NS);
	}
	*ret_body = list->body;
	return r;
}

static int series_write(const void *subject, FILE *output)
{
	return hk_finding_series_write(subject, output);
}

static int jobs(const char *user, struct hk_live_answer *answer)
{
	*answer = (struct hk_live_answer){.status = 200, .type = JSON};
	return listed(list_write, lists, LIST_SPACING, user, &answer->body);
}

static int finding_series(const char *user, struct hk_live_answer *answer)
{
	*answer = (struct hk_live_answer){.status = 200, .type = PLAIN};
	return listed(series_write, series, SERIES_SPACING, user, &answer->body);
}

/* ---- paths ---- */

static int digit(char letter)
{
	return isdigit((unsigned char)letter)	 ? letter - '0'
	       : isxdigit((unsigned char)letter) ? tolower((unsigned char)letter) - 'a' + 10
						 : -1;
}

/* Reads a job's id of LENGTH bytes at TEXT, %XX for any byte, into ID. Returns false if it cannot
 * be one: a path is none. */
static bool id_read(const char *text, size_t length, char id[ID_BYTES])
{
	size_t used = 0;

	for (size_t i = 0; i < length && used < ID_BYTES - 1; i++) {
		char letter = text[i];
		if (letter == '%') {
			int high = length - i > 2 ? digit(text[i + 1]) : -1;
			int low = length - i > 2 ? digit(text[i + 2]) : -1;
			if (high < 0 || low < 0) {
				return false;
			}
			letter = (char)(high * 16 + low);
			i += 2;
		}
		if (letter == '\0' || letter == '/') {
			return false;
		}
		id[used++] = letter;
	}
	id[used] = '\0';
	return used > 0 && used < ID_BYTES - 1 && id[0] != '.';
}

static int document(int (*get)(const char *id, const char *user, struct hk_live_body *ret_body),
		    const char *id, const char *user, struct hk_live_answer *answer)
{
	struct hk_live_body body;
	int r = get(id, user, &body);

	if (r == -ENOENT) {
		return say(404, "no such job here", answer);
	}
	if (r < 0) {
		return say(503, "the job cannot be read now", answer);
	}
	*answer = (struct hk_live_answer){200, JSON, body};
	return 0;
}

int hk_live_answer(const char *path, const char *user, struct hk_live_answer *ret_answer)
{
	char id[ID_BYTES];

	if (strcmp(path, "/") == 0) {
		return page(jobs_page_write, &jobs_page, ret_answer);
	}
	if (strcmp(path, JOBS) == 0) {
		return jobs(user, ret_answer);
	}
	if (strcmp(path, FINDINGS) == 0) {
		return finding_series(user, ret_answer);
	}
	const char *name =
	    strncmp(path, JOBS "/", strlen(JOBS "/")) == 0 ? path + strlen(JOBS "/") : "";
	const char *rest = strchrnul(name, '/');
	if (!id_read(name, (size_t)(rest - name), id)) {
		return say(404, "here are /, /jobs, /jobs/ID, /findings and /metrics", ret_answer);
	}
	if (strcmp(rest, DATA) == 0) {
		return document(hk_live_document, id, user, ret_answer);
	}
	if (strcmp(rest, NEWS) == 0) {
		return document(hk_live_news, id, user, ret_answer);
	}
	return *rest == '\0'
		   ? page(job_page_write, &job_page, ret_answer)
		   : say(404, "here are /jobs/ID, /jobs/ID/data and /jobs/ID/news", ret_answer);
}

/* ---- the socket ---- */

static int reply(int socket, const Hk__PageRequest *request)
{
	struct hk_live_answer answer;
	Hk__PageReply message = HK__PAGE_REPLY__INIT;
	struct pollfd room = {socket, POLLOUT, 0};
	int r = hk_live_answer(request->path, request->user, &answer);

	if (r < 0) {
		r = say(503, "out of memory", &answer);
	}
	if (r < 0) {
		return r;
	}
	message.number = request->number;
	message.status = answer.status;
	message.type = (char *)(uintptr_t)answer.type;
	message.size = answer.body.size;
	while ((r = hk_page_link_reply(socket, &message, answer.body.fd)) == -EAGAIN &&
	       poll(&room, 1, IDLE_MS) > 0) {
	}
	return r;
}

int hk_live_serve(int socket)
{
	struct pollfd ready = {socket, POLLIN, 0};
	int r = 0;

	while (r == 0 || r == -EAGAIN) {
		Hk__PageRequest *request;
		int events = poll(&ready, 1, IDLE_MS);
		if (events == 0) {
			return 0;
		}
		r = events < 0 ? -errno : hk_page_link_request(socket, &request);
		r = r == -EINTR ? -EAGAIN : r;
		if (r == 0) {
			r = reply(socket, request);
			hk__page_request__free_unpacked(request, NULL);
		}
	}
	return r == -ECONNRESET || r == -EPIPE ? 0 : r;
}
