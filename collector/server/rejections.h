/* rejections.h: logs refused peers, with reason and number: one line per peer and reason, then a
 * count once a minute.
 *
 * A bounded table: peers that do not fit are counted together. Any thread may note; one thread
 * logs.
 */
#ifndef HK_COLLECTOR_SERVER_REJECTIONS_H
#define HK_COLLECTOR_SERVER_REJECTIONS_H

#include <stdint.h>

#define HK_REJECTIONS_PEER_BYTES 64

struct hk_rejections;

/* NULL without memory. */
struct hk_rejections *hk_rejections_new(void);

/* Tells what is left, and frees; accepts NULL, returns NULL. */
struct hk_rejections *hk_rejections_free(struct hk_rejections *refusals);

/* WHY must live on: a literal. */
void hk_rejections_add(struct hk_rejections *refusals, const char *peer, const char *why);

/* Logs what is due at NOW_NS (monotonic): a new peer or reason at once, others once a minute. */
void hk_rejections_log(struct hk_rejections *refusals, uint64_t now_ns);

/* All that were noted. */
uint64_t hk_rejections_total(struct hk_rejections *refusals);

#endif
