/* server.h: answers hookcli over NNG request/reply.
 *
 * A few contexts receive at the same time on NNG's threads and only mark themselves ready; the
 * collector's one thread reads, answers or puts the answer off (a job that is about to close).
 * Lifetime: open after signals are blocked, so that NNG's threads never take one; free before exit.
 */
#ifndef HK_COLLECTOR_SERVER_H
#define HK_COLLECTOR_SERVER_H

#include "collector/collector.h"

struct hk_server;

/* Listens on collector->url and options.listen. -EADDRINUSE and other -errno. */
int hk_server_open(const struct hk_collector *collector, struct hk_server **ret_server);
/* Closes sockets and frees; accepts NULL, returns NULL. Who waits for an answer is told nothing. */
struct hk_server *hk_server_free(struct hk_server *server);

/* Readable when a request waits. */
int hk_server_fd(const struct hk_server *server);

/* Answers what can be answered now. */
void hk_server_run(struct hk_collector *collector, struct hk_server *server);

/* True while an answer is put off. */
bool hk_server_waits(const struct hk_server *server);

#endif
