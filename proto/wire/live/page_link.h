/* page_link.h: the socket between the collector and the process that makes its live pages. Both
 * ends are SOCK_SEQPACKET; a message is one packet. The body of a reply is a sealed memory file,
 * which travels with the packet: the collector maps it, and clients that get the same body share
 * it. No state.
 */
#ifndef HK_WIRE_LIVE_PAGE_LINK_H
#define HK_WIRE_LIVE_PAGE_LINK_H

#include <stddef.h>

#include "schema/page.pb-c.h"

/* The word by which hookcli becomes that process; its next words are the collector's URL and
 * its store, its standard input the socket. */
#define HK_PAGE_LINK_WORD "make-pages"

#define HK_PAGE_BODY_MAX (256u << 20) /* bytes */

/* Makes a memory file with the SIZE bytes of BODY that cannot be changed. Returns its descriptor,
 * or -errno. */
int hk_page_body_make(const char *body, size_t size);

/* Maps the SIZE bytes of FD, which must be sealed. Returns 0, -EMSGSIZE, -EBADF if the file could
 * change, or -errno. The caller unmaps. */
int hk_page_body_map(int fd, uint64_t size, char **ret_body);

/* Send one message without waiting. Return 0, -EAGAIN if there is no room, or -errno. */
int hk_page_link_ask(int socket, const Hk__PageRequest *request);
int hk_page_link_reply(int socket, const Hk__PageReply *reply, int body);

/* Receive one message without waiting. Return 0, -EAGAIN, -ECONNRESET if the other side ended, or
 * -EBADMSG. The caller frees the message, and closes *RET_BODY. */
int hk_page_link_request(int socket, Hk__PageRequest **ret_request);
int hk_page_link_take(int socket, Hk__PageReply **ret_reply, int *ret_body);

#endif
