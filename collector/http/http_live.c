#include "collector/http/http_live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "collector/http/http_client.h"

#define LIVE_NS UINT64_C(30000000000) /* for a live page to be made */

static bool is_unasked(const struct hk_http_client *client, uint64_t number)
{
	(void)number;
	return client->path == PATH_LIVE && client->asked == 0;
}

static bool is_asked(const struct hk_http_client *client, uint64_t number)
{
	return client->path == PATH_LIVE && client->asked != 0 &&
	       (number == 0 || client->asked == number);
}

static void refuse_unasked(struct hk_http *http, const char *text)
{
	struct hk_http_client *client;
	while ((client = hk_http_find_waiting(http, is_unasked, 0)) != NULL) {
		hk_http_refuse(client, "503 Service Unavailable", text);
	}
}

static void ask_live(struct hk_http *http)
{
	struct hk_http_client *client;
	while ((client = hk_http_find_waiting(http, is_unasked, 0)) != NULL) {
		int r = hk_live_ask(http->live, http->asked + 1, client->target, client->user);
		if (r == -EAGAIN) {
			return;
		}
		if (r < 0) {
			refuse_unasked(
			    http, r == -ENOENT ? "hookcli, which makes the pages, is not installed "
						 "beside hookcollector\n"
					       : "cannot start hookcli, which makes the pages\n");
			return;
		}
		client->asked = ++http->asked;
	}
}

static const char *status_text(uint32_t status)
{
	return status == 200   ? "200 OK"
	       : status == 404 ? "404 Not Found"
			       : "503 Service Unavailable";
}

/* Sends BODY, a mapping of REPLY's size, which it takes over. */
static void answer_live(struct hk_http_client *client, const Hk__PageReply *answer, char *body)
{
	struct hk_page *page = calloc(1, sizeof(*page));
	if (!page) {
		munmap(body, answer->size);
		hk_http_refuse(client, "503 Service Unavailable", "out of memory\n");
		return;
	}
	*page = (struct hk_page){.text = body, .size = answer->size, .users = 1, .mapped = true};
	hk_http_reply(client, status_text(answer->status),
		      strcmp(answer->type, "application/json") == 0 ? "application/json"
		      : strncmp(answer->type, "text/html", strlen("text/html")) == 0
			  ? "text/html; charset=utf-8"
			  : HK_HTTP_PLAIN,
		      page, "");
}

static void fail_live(struct hk_http *http)
{
	struct hk_http_client *client;
	while ((client = hk_http_find_waiting(http, is_asked, 0)) != NULL) {
		hk_http_refuse(client, "503 Service Unavailable",
			       "the process that makes the pages has ended: ask again\n");
	}
}

static void take_live(struct hk_http *http)
{
	Hk__PageReply *answer;
	char *body;
	int r;
	while ((r = hk_live_take(http->live, &answer, &body)) == 0) {
		struct hk_http_client *client =
		    hk_http_find_waiting(http, is_asked, answer->number);
		if (client) {
			answer_live(client, answer, body);
		} else {
			munmap(body, answer->size);
		}
		hk__page_reply__free_unpacked(answer, NULL);
	}
	if (r == -ECHILD) {
		fail_live(http);
	}
}

/* Refuses the clients that have waited too long, whose process is stuck or cannot be started. */
static void give_up(struct hk_http *http)
{
	uint64_t now = hk_clock_monotonic_ns();
	const struct hk_http_client *asked = hk_http_find_waiting(http, is_asked, 0);
	const struct hk_http_client *unasked = hk_http_find_waiting(http, is_unasked, 0);
	if (asked && now >= asked->waits_since_ns + LIVE_NS) {
		hk_live_end(http->live);
		fail_live(http);
	}
	if (unasked && now >= unasked->waits_since_ns + LIVE_NS) {
		refuse_unasked(http, "the process that makes the pages does not start\n");
	}
}

void hk_http_run_live(struct hk_http *http)
{
	take_live(http);
	give_up(http);
	ask_live(http);
}
