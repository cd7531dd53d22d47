/* uplink_kind.h: what a kind of link does behind the functions of uplink.h, which say what each of
 * these means.
 *
 * A kind's struct begins with struct hk_uplink. uplink_open.c finds the kind of a URL.
 */
#ifndef HK_COLLECTOR_UPLINK_UPLINK_KIND_H
#define HK_COLLECTOR_UPLINK_UPLINK_KIND_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/wire.pb-c.h"

struct hk_uplink;
struct hk_uplink_reply;

struct hk_uplink_kind {
	void (*free)(struct hk_uplink *uplink);
	int (*fd)(const struct hk_uplink *uplink);
	void (*tend)(struct hk_uplink *uplink, uint64_t now_ns);
	uint64_t (*due)(const struct hk_uplink *uplink);
	bool (*connected)(const struct hk_uplink *uplink);
	bool (*replied)(const struct hk_uplink *uplink);
	const char *(*problem)(const struct hk_uplink *uplink);
	uint64_t (*generation)(const struct hk_uplink *uplink);
	int (*send)(struct hk_uplink *uplink, const Hk__Request *request);
	int (*next)(struct hk_uplink *uplink, struct hk_uplink_reply *ret_reply);
	void (*refused)(struct hk_uplink *uplink, uint64_t now_ns, const char *text);
	void (*senseless)(struct hk_uplink *uplink, uint64_t now_ns);
};

struct hk_uplink {
	const struct hk_uplink_kind *kind;
};

#endif
