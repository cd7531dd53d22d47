#include "collector/live/live.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/beside.h"
#include "base/clock.h"
#include "collector/helper/helper.h"
#include "wire/live/page_link.h"

#define PROGRAM "hookcli"
#define SECOND_NS UINT64_C(1000000000)

struct hk_live {
	const char *url, *store;
	struct hk_helper helper;
	uint64_t started_ns; /* monotonic; 0: never */
};

struct hk_live *hk_live_new(const char *url, const char *store)
{
	struct hk_live *live = calloc(1, sizeof(*live));

	if (live) {
		live->url = url;
		live->store = store;
		live->helper = HK_HELPER_INIT;
	}
	return live;
}

/* ---- the process ---- */

/* Paths relative to the directory of hookcollector: as installed, then as in the build tree. */
static const char *const places[] = {PROGRAM, "../cli/" PROGRAM};

static int start(struct hk_live *live)
{
	static char name[] = PROGRAM, word[] = HK_PAGE_LINK_WORD;
	char *arguments[] = {name, word, (char *)(uintptr_t)live->url,
			     (char *)(uintptr_t)live->store, NULL};
	char path[PATH_MAX];
	uint64_t now = hk_clock_monotonic_ns();

	if (live->started_ns != 0 && now < live->started_ns + SECOND_NS) {
		return -EAGAIN;
	}
	int r = hk_beside(places, sizeof(places) / sizeof(places[0]), X_OK, path);
	r = r < 0 ? r : hk_helper_start(&live->helper, path, arguments);
	live->started_ns = now;
	return r;
}

struct hk_live *hk_live_free(struct hk_live *live)
{
	if (live) {
		hk_helper_end(&live->helper);
		free(live);
	}
	return NULL;
}

void hk_live_end(struct hk_live *live)
{
	hk_helper_end(&live->helper);
}

int hk_live_fd(const struct hk_live *live)
{
	return live ? live->helper.fd : -1;
}

/* ---- requests ---- */

int hk_live_ask(struct hk_live *live, uint64_t number, const char *path, const char *user)
{
	Hk__PageRequest request = HK__PAGE_REQUEST__INIT;
	int r = live->helper.fd < 0 ? start(live) : 0;

	if (r < 0) {
		return r;
	}
	request.number = number;
	request.path = (char *)(uintptr_t)path;
	request.user = (char *)(uintptr_t)user;
	r = hk_page_link_ask(live->helper.fd, &request);
	if (r == -EPIPE || r == -ECONNRESET) {
		return -EAGAIN; /* its end is taken next, then another one is started */
	}
	return r;
}

int hk_live_take(struct hk_live *live, Hk__PageReply **ret_reply, char **ret_body)
{
	Hk__PageReply *reply = NULL;
	int body = -1;

	if (live->helper.fd < 0) {
		return -EAGAIN;
	}
	int r = hk_page_link_take(live->helper.fd, &reply, &body);
	if (r == -EAGAIN) {
		return r;
	}
	if (r == 0) {
		r = hk_page_body_map(body, reply->size, ret_body);
		close(body);
	}
	if (r < 0) {
		if (reply) {
			hk__page_reply__free_unpacked(reply, NULL);
		}
		hk_helper_end(&live->helper);
		return -ECHILD;
	}
	*ret_reply = reply;
	return 0;
}
