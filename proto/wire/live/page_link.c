#include "wire/live/page_link.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wire/message.h"

#define PACKET_BYTES 16384u
#define SEALS (F_SEAL_SHRINK | F_SEAL_WRITE | F_SEAL_GROW)

/* ---- bodies ---- */

static int write_all(int fd, const char *bytes, size_t size)
{
	while (size > 0) {
		ssize_t written = write(fd, bytes, size);
		if (written < 0 && errno == EINTR) {
			continue;
		}
		if (written <= 0) {
			return written < 0 ? -errno : -EIO;
		}
		bytes += written;
		size -= (size_t)written;
	}
	return 0;
}

int hk_page_body_make(const char *body, size_t size)
{
	int fd = memfd_create("page", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0) {
		return -errno;
	}
	int r = size > HK_PAGE_BODY_MAX ? -EMSGSIZE : write_all(fd, body, size);
	if (r == 0 && fcntl(fd, F_ADD_SEALS, SEALS) < 0) {
		r = -errno;
	}
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

int hk_page_body_map(int fd, uint64_t size, char **ret_body)
{
	struct stat stat;
	int seals = fcntl(fd, F_GET_SEALS);

	if (size == 0 || size > HK_PAGE_BODY_MAX) {
		return -EMSGSIZE;
	}
	/* A file that shrank later would end the process that reads the mapping. */
	if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &stat) < 0 ||
	    (uint64_t)stat.st_size != size) {
		return -EBADF;
	}
	void *body = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (body == MAP_FAILED) {
		return -errno;
	}
	*ret_body = body;
	return 0;
}

/* ---- messages ---- */

union control {
	char bytes[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

/* Sends MESSAGE, and BODY unless it is -1. */
static int send_message(int socket, const ProtobufCMessage *message, int body)
{
	uint8_t bytes[PACKET_BYTES];
	size_t size = protobuf_c_message_get_packed_size(message);
	union control control = {0};
	struct iovec part = {bytes, size};
	struct msghdr packet = {.msg_iov = &part, .msg_iovlen = 1};

	if (size > sizeof(bytes)) {
		return -EMSGSIZE;
	}
	protobuf_c_message_pack(message, bytes);
	if (body >= 0) {
		packet.msg_control = control.bytes;
		packet.msg_controllen = sizeof(control.bytes);
		struct cmsghdr *header = CMSG_FIRSTHDR(&packet);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(header), &body, sizeof(int));
	}
	return sendmsg(socket, &packet, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Takes the descriptor out of PACKET, or returns -1. */
static int body_of(struct msghdr *packet)
{
	struct cmsghdr *header = CMSG_FIRSTHDR(packet);
	int fd = -1;

	if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
	    header->cmsg_len == CMSG_LEN(sizeof(int))) {
		memcpy(&fd, CMSG_DATA(header), sizeof(int));
	}
	return fd;
}

static int take_message(int socket, const ProtobufCMessageDescriptor *descriptor,
			ProtobufCMessage **ret_message, int *ret_body)
{
	uint8_t bytes[PACKET_BYTES];
	union control control = {0};
	struct iovec part = {bytes, sizeof(bytes)};
	struct msghdr packet = {.msg_iov = &part,
				.msg_iovlen = 1,
				.msg_control = control.bytes,
				.msg_controllen = sizeof(control.bytes)};
	ssize_t size = recvmsg(socket, &packet, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (size < 0) {
		return errno == EINTR ? -EAGAIN : -errno;
	}
	if (size == 0) {
		return -ECONNRESET;
	}
	*ret_body = body_of(&packet);
	int r = packet.msg_flags & (MSG_TRUNC | MSG_CTRUNC)
		    ? -EBADMSG
		    : hk_message_unpack(descriptor, bytes, (size_t)size, ret_message);
	if (r < 0 && *ret_body >= 0) {
		close(*ret_body);
		*ret_body = -1;
	}
	return r < 0 ? -EBADMSG : 0;
}

int hk_page_link_ask(int socket, const Hk__PageRequest *request)
{
	return send_message(socket, &request->base, -1);
}

int hk_page_link_reply(int socket, const Hk__PageReply *reply, int body)
{
	return send_message(socket, &reply->base, body);
}

int hk_page_link_request(int socket, Hk__PageRequest **ret_request)
{
	ProtobufCMessage *message;
	int body = -1;
	int r = take_message(socket, &hk__page_request__descriptor, &message, &body);

	if (body >= 0) {
		close(body);
	}
	if (r == 0) {
		*ret_request = (Hk__PageRequest *)message;
	}
	return r;
}

int hk_page_link_take(int socket, Hk__PageReply **ret_reply, int *ret_body)
{
	ProtobufCMessage *message;
	int r = take_message(socket, &hk__page_reply__descriptor, &message, ret_body);

	if (r == 0 && *ret_body < 0) {
		protobuf_c_message_free_unpacked(message, NULL);
		return -EBADMSG;
	}
	if (r == 0) {
		*ret_reply = (Hk__PageReply *)message;
	}
	return r;
}
