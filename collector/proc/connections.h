/* connections.h: a process's TCP connections whose data was sent again and again without an answer.
 *
 * Reads the tables /proc/<pid>/net/tcp and tcp6 of the process's network namespace, and of its open
 * files which connections are its own. May take milliseconds on a host with thousands of them.
 * Thread-safe, no state.
 */
#ifndef HK_COLLECTOR_PROC_CONNECTIONS_H
#define HK_COLLECTOR_PROC_CONNECTIONS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HK_CONNECTIONS_STALLED 8u   /* of one process; further ones are left out */
#define HK_CONNECTIONS_ADDRESSES 4u /* of one process; further ones are left out */
/* As often must data be sent again: with Linux's first interval of 0.2 s, for 0.6 s. */
#define HK_CONNECTION_RETRIES 2u

/* A row of the kernel's table. */
struct hk_connection {
	char local[INET6_ADDRSTRLEN], peer[INET6_ADDRSTRLEN];
	uint16_t peer_port;
	bool established;
	uint64_t unanswered; /* bytes that were sent and are not acknowledged */
	uint32_t retries;    /* how often they were sent again; 0: no such timer runs */
	uint64_t inode;
};

struct hk_connections {
	struct hk_connection stalled[HK_CONNECTIONS_STALLED];
	/* Local ends of its connections, without those that stay on the host. */
	char addresses[HK_CONNECTIONS_ADDRESSES][INET6_ADDRSTRLEN];
	size_t stalled_count, address_count;
};

/* Parses LINE of such a table. Returns 0, or -EBADMSG: a heading, or a line of another form. */
int hk_connection_parse(const char *line, struct hk_connection *ret_connection);

/* Finds the stalled connections and the addresses of process PID. Returns 0 or -errno, of which
 * -EACCES says that its open files may not be seen. */
int hk_connections_find(uint32_t pid, struct hk_connections *ret_connections);

#endif
