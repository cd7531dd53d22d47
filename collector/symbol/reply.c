#include "collector/symbol/reply.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "schema/symbol.pb-c.h"

#define SEND_BYTES (32u << 10) /* a message is sent when it has so many */

struct hk_reply {
	int socket;
	Hk__SymbolReply message;
	Hk__SymbolFrame *frames[HK_SYMBOL_ADDRESSES_MOST];
	size_t bytes; /* of `message`, about */
};

struct hk_reply *hk_reply_new(int socket, uint64_t number)
{
	struct hk_reply *reply = calloc(1, sizeof(*reply));

	if (reply) {
		reply->socket = socket;
		hk__symbol_reply__init(&reply->message);
		reply->message.number = number;
		reply->message.frame = reply->frames;
	}
	return reply;
}

static void clear(struct hk_reply *reply)
{
	for (size_t i = 0; i < reply->message.n_frame; i++) {
		hk__symbol_frame__free_unpacked(reply->frames[i], NULL);
	}
	reply->message.n_frame = 0;
	reply->bytes = 0;
}

struct hk_reply *hk_reply_free(struct hk_reply *reply)
{
	if (reply) {
		clear(reply);
		free(reply);
	}
	return NULL;
}

static int send_message(struct hk_reply *reply)
{
	size_t size = hk__symbol_reply__get_packed_size(&reply->message);
	uint8_t *bytes = malloc(size + 1);
	ssize_t sent;

	if (!bytes) {
		return -ENOMEM;
	}
	hk__symbol_reply__pack(&reply->message, bytes);
	do {
		sent = send(reply->socket, bytes, size, MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	int r = sent < 0 ? -errno : 0;
	free(bytes);
	clear(reply);
	return r;
}

/* Copies TEXT; "" is no allocation, as protobuf-c has it. */
static int set(char **text, const char *value)
{
	char *copy = *value ? strdup(value) : NULL;

	if (copy) {
		*text = copy;
	}
	return copy || !*value ? 0 : -ENOMEM;
}

static int add_place(Hk__SymbolFrame *frame, const struct hk_place *from)
{
	Hk__SymbolPlace *place = malloc(sizeof(*place));

	if (!place) {
		return -ENOMEM;
	}
	hk__symbol_place__init(place);
	frame->place[frame->n_place++] = place;
	place->line = from->line;
	int r = set(&place->function, from->function);
	return r < 0 ? r : set(&place->file, from->file);
}

int hk_reply_add(struct hk_reply *reply, uint32_t index, const struct hk_places *places)
{
	Hk__SymbolFrame *frame;
	int r = 0;

	if (reply->bytes + places->used > SEND_BYTES && reply->message.n_frame > 0) {
		r = send_message(reply);
	}
	if (r < 0 || places->count == 0) {
		return r;
	}
	frame = malloc(sizeof(*frame));
	if (!frame) {
		return -ENOMEM;
	}
	hk__symbol_frame__init(frame);
	frame->index = index;
	frame->place = calloc(places->count, sizeof(Hk__SymbolPlace *));
	r = frame->place ? 0 : -ENOMEM;
	for (size_t i = 0; i < places->count && r == 0; i++) {
		r = add_place(frame, &places->place[i]);
	}
	reply->frames[reply->message.n_frame++] = frame;
	reply->bytes += places->used + 16 * places->count;
	return r;
}

int hk_reply_end(struct hk_reply *reply, const char *problem)
{
	reply->message.last = 1;
	reply->message.problem = (char *)problem;
	int r = send_message(reply);

	reply->message.problem = (char *)protobuf_c_empty_string;
	return r;
}
