#include "collector/proc/connections.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_BYTES 512
#define LINES_MOST 65536u
#define SOCKETS_MOST 65536u
#define WORD_DIGITS 8u /* hexadecimal, of 4 bytes in the host's order */
#define STATE_ESTABLISHED 1u
#define TIMER_RETRANSMIT 1u
#define ADDRESS_DIGITS "32" /* most */

/* ---- the process's sockets ---- */

struct sockets {
	uint64_t *inodes; /* ascending */
	size_t count, room;
};

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int add_socket(struct sockets *sockets, uint64_t inode)
{
	if (sockets->count == sockets->room) {
		size_t room = sockets->room ? 2 * sockets->room : 64;
		uint64_t *larger =
		    room <= SOCKETS_MOST ? realloc(sockets->inodes, room * sizeof(*larger)) : NULL;
		if (!larger) {
			return -ENOMEM;
		}
		sockets->inodes = larger;
		sockets->room = room;
	}
	sockets->inodes[sockets->count++] = inode;
	return 0;
}

/* The caller frees the inodes of *RET_SOCKETS. */
static int find_sockets(uint32_t pid, struct sockets *ret_sockets)
{
	char path[64], target[64];
	const struct dirent *entry;
	uint64_t inode;
	int r = 0;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/fd", pid);
	DIR *files = opendir(path);
	if (!files) {
		return -errno;
	}
	while (r == 0 && (entry = readdir(files)) != NULL) {
		ssize_t n = readlinkat(dirfd(files), entry->d_name, target, sizeof(target) - 1);
		target[n > 0 ? n : 0] = '\0';
		if (sscanf(target, "socket:[%" SCNu64 "]", &inode) == 1) {
			r = add_socket(ret_sockets, inode);
		}
	}
	closedir(files);
	if (ret_sockets->count > 0) {
		qsort(ret_sockets->inodes, ret_sockets->count, sizeof(uint64_t), ascending);
	}
	return r;
}

static bool is_own(const struct sockets *sockets, uint64_t inode)
{
	return sockets->count > 0 && bsearch(&inode, sockets->inodes, sockets->count,
					     sizeof(uint64_t), ascending) != NULL;
}

/* ---- tables ---- */

/* Writes the address of DIGITS as people write it. An IPv4 address within IPv6 is written as one.
 */
static bool read_address(const char *digits, char text[INET6_ADDRSTRLEN])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	uint32_t words[4] = {0};
	size_t count = strlen(digits) / WORD_DIGITS;

	if ((count != 1 && count != 4) || strlen(digits) % WORD_DIGITS != 0) {
		return false;
	}
	for (size_t i = 0; i < count; i++) {
		char word[WORD_DIGITS + 1] = "";
		memcpy(word, digits + i * WORD_DIGITS, WORD_DIGITS);
		words[i] = (uint32_t)strtoul(word, NULL, 16);
	}
	if (count == 4 && memcmp(words, mapped, sizeof(mapped)) != 0) {
		return inet_ntop(AF_INET6, words, text, INET6_ADDRSTRLEN) != NULL;
	}
	return inet_ntop(AF_INET, &words[count - 1], text, INET6_ADDRSTRLEN) != NULL;
}

int hk_connection_parse(const char *line, struct hk_connection *ret_connection)
{
	char local[33], peer[33];
	unsigned local_port, peer_port, state, timer, retries;
	struct hk_connection connection = {0};

	int n = sscanf(line,
		       " %*u: %" ADDRESS_DIGITS "[0-9A-Fa-f]:%x %" ADDRESS_DIGITS
		       "[0-9A-Fa-f]:%x %x %" SCNx64 ":%*x %x:%*x %x %*u %*u %" SCNu64,
		       local, &local_port, peer, &peer_port, &state, &connection.unanswered, &timer,
		       &retries, &connection.inode);
	if (n != 9 || local_port > UINT16_MAX || peer_port > UINT16_MAX ||
	    !read_address(local, connection.local) || !read_address(peer, connection.peer)) {
		return -EBADMSG;
	}
	connection.peer_port = (uint16_t)peer_port;
	connection.established = state == STATE_ESTABLISHED;
	connection.retries = timer == TIMER_RETRANSMIT ? retries : 0;
	*ret_connection = connection;
	return 0;
}

static bool stays_here(const struct hk_connection *connection)
{
	return strncmp(connection->local, "127.", 4) == 0 ||
	       strcmp(connection->local, "::1") == 0 ||
	       strcmp(connection->local, connection->peer) == 0;
}

static void add_address(struct hk_connections *connections, const char *address)
{
	size_t i = 0;

	while (i < connections->address_count && strcmp(connections->addresses[i], address) != 0) {
		i++;
	}
	if (i == connections->address_count && i < HK_CONNECTIONS_ADDRESSES) {
		snprintf(connections->addresses[connections->address_count++], INET6_ADDRSTRLEN,
			 "%s", address);
	}
}

static void take(const struct hk_connection *connection, struct hk_connections *connections)
{
	add_address(connections, connection->local);
	if (connection->retries >= HK_CONNECTION_RETRIES &&
	    connections->stalled_count < HK_CONNECTIONS_STALLED) {
		connections->stalled[connections->stalled_count++] = *connection;
	}
}

static int read_table(uint32_t pid, const char *name, const struct sockets *sockets,
		      struct hk_connections *connections)
{
	char path[64], line[LINE_BYTES];
	struct hk_connection connection;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/net/%s", pid, name);
	FILE *table = fopen(path, "re");
	if (!table) {
		return -errno;
	}
	for (uint32_t i = 0; i < LINES_MOST && fgets(line, sizeof(line), table); i++) {
		if (hk_connection_parse(line, &connection) == 0 && connection.established &&
		    !stays_here(&connection) && is_own(sockets, connection.inode)) {
			take(&connection, connections);
		}
	}
	fclose(table);
	return 0;
}

int hk_connections_find(uint32_t pid, struct hk_connections *ret_connections)
{
	struct sockets sockets = {0};

	*ret_connections = (struct hk_connections){0};
	int r = find_sockets(pid, &sockets);
	if (r == 0 && sockets.count > 0) {
		r = read_table(pid, "tcp", &sockets, ret_connections);
		int other = read_table(pid, "tcp6", &sockets, ret_connections);
		r = r == 0 && other != -ENOENT ? other : r; /* a kernel without IPv6 has none */
	}
	free(sockets.inodes);
	return r;
}
