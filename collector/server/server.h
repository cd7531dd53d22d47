/* server.h: answers hookcli and leaves, on the run directory's socket and on the addresses of
 * --listen.
 *
 * Connections (connection.h) receive and send on NNG's threads. The collector's one thread answers,
 * or puts the answer off (a job that is about to close). There are limits per account (quota.h), of
 * unauthenticated connections per address, and of time for each message. Lifetime: open after
 * signals are blocked, so that NNG's threads never take one; free before exit.
 */
#ifndef HK_COLLECTOR_SERVER_SERVER_H
#define HK_COLLECTOR_SERVER_SERVER_H

#include <stdbool.h>
#include <stddef.h>

#include "collector/server/handler.h"
#include "collector/server/policy.h"
#include "collector/server/quota.h"
#include "collector/server/rejections.h"

struct hk_server;

struct hk_server_setup {
	const struct hk_collector_options *options; /* of these `listen` and TLS */
	const char *url;			    /* of the run directory's socket */
	const struct hk_policy *policy;		    /* must outlive the server */
	struct hk_rejections *rejections;	    /* must outlive the server */
	hk_request_right right;
	hk_request_handler handle;
	void *context; /* of `handle` */
};

/* Listens on the URL of SETUP and on options.listen. Returns 0, or -errno with the reason in
 * PROBLEM. */
int hk_server_open(const struct hk_server_setup *setup, struct hk_server **ret_server,
		   char problem[HK_ACCESS_PROBLEM_BYTES]);
/* Closes sockets and frees; accepts NULL, returns NULL. Clients that wait for an answer get none.
 */
struct hk_server *hk_server_free(struct hk_server *server);

/* Readable when a request waits. */
int hk_server_fd(const struct hk_server *server);

/* Answers what can be answered now. */
void hk_server_run(struct hk_server *server);

/* True while an answer is put off or on its way. */
bool hk_server_waits(struct hk_server *server);

/* Logs refused peers, as far as that is due, and frees memory. Called about once a second. */
void hk_server_maintain(struct hk_server *server);

/* The limits of all accounts; the server's. */
struct hk_quota *hk_server_quota(const struct hk_server *server);

/* Whether the socket is in the run directory. */
bool hk_server_is_reachable(const struct hk_server *server);

/* Makes the run directory's socket, URL, again. Connections that exist are kept. Returns 0 or
 * -errno.
 */
int hk_server_listen_again(struct hk_server *server, const char *url);

/* Returns the URL on which it listens beside the run directory's socket, with the real port, or ""
 * if there is none. */
const char *hk_server_url(const struct hk_server *server);

/* Lists the accounts that have sent a request and that USER ("": all users) may see. The caller
 * frees the list as one block; the texts belong to the quota. Returns 0 or -ENOMEM. */
int hk_server_accounts(struct hk_server *server, const char *user, Hk__Account ***ret_list,
		       size_t *ret_count);

#endif
