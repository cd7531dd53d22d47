#include "collector/server/rejections.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#define ENTRIES 64u
#define SPACING_NS UINT64_C(60000000000)

struct peer {
	char name[HK_REJECTIONS_PEER_BYTES]; /* "": free */
	const char *why;
	uint64_t count;	    /* not logged yet */
	uint64_t logged_ns; /* 0: never */
};

struct hk_rejections {
	pthread_mutex_t lock;
	uint64_t total;
	uint64_t asked_ns; /* time of the last request for due entries */
	struct peer peers[ENTRIES];
	struct peer others; /* all peers without an entry of their own */
};

struct hk_rejections *hk_rejections_new(void)
{
	struct hk_rejections *refusals = calloc(1, sizeof(*refusals));
	if (refusals) {
		pthread_mutex_init(&refusals->lock, NULL);
		snprintf(refusals->others.name, sizeof(refusals->others.name), "others");
	}
	return refusals;
}

struct hk_rejections *hk_rejections_free(struct hk_rejections *refusals)
{
	if (refusals) {
		hk_rejections_log(refusals, UINT64_MAX);
		pthread_mutex_destroy(&refusals->lock);
		free(refusals);
	}
	return NULL;
}

/* Returns NAME's entry. If it has none, returns a free entry, one of a peer that was quiet for a
 * while, or the entry of all others. */
static struct peer *find(struct hk_rejections *refusals, const char *name, const char *why)
{
	struct peer *room = NULL;
	for (size_t i = 0; i < ENTRIES; i++) {
		struct peer *peer = &refusals->peers[i];
		if (strcmp(peer->name, name) == 0 && strcmp(peer->why, why) == 0) {
			return peer;
		}
		bool quiet = peer->count == 0 && refusals->asked_ns - peer->logged_ns >= SPACING_NS;
		bool spare = !*peer->name || quiet;
		if (spare && (!room || (*room->name && peer->logged_ns < room->logged_ns))) {
			room = peer;
		}
	}
	if (!room) {
		return &refusals->others;
	}
	*room = (struct peer){.why = why};
	snprintf(room->name, sizeof(room->name), "%s", name);
	return room;
}

void hk_rejections_add(struct hk_rejections *refusals, const char *peer, const char *why)
{
	pthread_mutex_lock(&refusals->lock);
	struct peer *entry = find(refusals, peer, why);
	entry->why = why; /* for the entry of all others: the last reason */
	entry->count++;
	refusals->total++;
	pthread_mutex_unlock(&refusals->lock);
}

static void tell(struct peer *peer, uint64_t now_ns)
{
	bool due = peer->logged_ns == 0 || now_ns - peer->logged_ns >= SPACING_NS;
	if (peer->count > 0 && due) {
		hk_warning("refused peer=%s count=%llu why=%s", peer->name,
			   (unsigned long long)peer->count, peer->why);
		peer->count = 0;
		peer->logged_ns = now_ns;
	}
}

void hk_rejections_log(struct hk_rejections *refusals, uint64_t now_ns)
{
	pthread_mutex_lock(&refusals->lock);
	refusals->asked_ns = now_ns;
	for (size_t i = 0; i < ENTRIES; i++) {
		tell(&refusals->peers[i], now_ns);
	}
	tell(&refusals->others, now_ns);
	pthread_mutex_unlock(&refusals->lock);
}

uint64_t hk_rejections_total(struct hk_rejections *refusals)
{
	pthread_mutex_lock(&refusals->lock);
	uint64_t total = refusals->total;
	pthread_mutex_unlock(&refusals->lock);
	return total;
}
