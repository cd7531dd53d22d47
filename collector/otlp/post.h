/* post.h: one POST at a time over a connection of its own, on NNG's threads.
 *
 * The owner's thread calls all functions here and never waits. All of an exchange is bounded: its
 * time, and the bytes of the answer.
 */
#ifndef HK_COLLECTOR_OTLP_POST_H
#define HK_COLLECTOR_OTLP_POST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/model/http_url.h"
#include "collector/otlp/answer.h"

struct hk_post;
struct nng_tls_config;

/* TLS: borrowed, NULL for plain HTTP. Returns NULL if out of memory. */
struct hk_post *hk_post_new(const struct hk_http_url *url, struct nng_tls_config *tls);

/* Ends what is under way, and frees; accepts NULL, returns NULL. */
struct hk_post *hk_post_free(struct hk_post *post);

/* Begins to send HEAD and BODY, which are taken over, within TIMEOUT_NS. Returns 0 or -errno. None
 * may be under way. */
int hk_post_begin(struct hk_post *post, char *head, uint8_t *body, size_t body_size,
		  uint64_t timeout_ns);

/* Returns true once after each begin: when the exchange has ended. Then *RET_ERROR is 0, with
 * *RET_ANSWER, or a negative errno: -EKEYREJECTED if TLS failed, -EBADMSG if the answer was not
 * understood, -EMSGSIZE if it was too long, or those of hk_nng_errno. */
bool hk_post_ended(struct hk_post *post, int *ret_error, struct hk_otlp_answer *ret_answer);

#endif
