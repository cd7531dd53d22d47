/* A simulated libbkcl.so: calls that check their arguments and copy the rank's own data on the
 * stream, as if every type had four bytes. */
#include <stdlib.h>

#include "xpu.h"

#define TYPE_BYTES 4u

struct sim_context {
	int ranks;
};

int bkcl_init_rank(BKCLContext_t *context, int rank, int ranks, const void *id)
{
	*context = id && rank >= 0 && rank < ranks ? calloc(1, sizeof(**context)) : NULL;
	if (!*context) {
		return BKCL_ERROR;
	}
	(*context)->ranks = ranks;
	return BKCL_SUCCESS;
}

int bkcl_destroy_context(BKCLContext_t context)
{
	free(context);
	return context ? BKCL_SUCCESS : BKCL_ERROR;
}

static int move(BKCLContext_t context, const void *from, void *to, size_t count, XPUStream stream)
{
	bool done = context && sim_copy(stream, to, from, count * TYPE_BYTES) == 0;

	return done ? BKCL_SUCCESS : BKCL_ERROR;
}

int bkcl_all_reduce(BKCLContext_t context, const void *from, void *to, size_t count, int type,
		    int op, XPUStream stream)
{
	return type >= 0 && op >= 0 ? move(context, from, to, count, stream) : BKCL_ERROR;
}

int bkcl_broadcast(BKCLContext_t context, const void *from, void *to, size_t count, int type,
		   int root, XPUStream stream)
{
	bool known = type >= 0 && root >= 0 && root < context->ranks;

	return known ? move(context, from, to, count, stream) : BKCL_ERROR;
}

int bkcl_all_gather(BKCLContext_t context, const void *from, size_t count, void *to, int type,
		    XPUStream stream)
{
	return type >= 0 ? move(context, from, to, count, stream) : BKCL_ERROR;
}

int bkcl_send(BKCLContext_t context, const void *from, size_t count, int peer, int type,
	      XPUStream stream)
{
	(void)count;
	(void)stream;
	return from && type >= 0 && peer >= 0 && peer < context->ranks ? BKCL_SUCCESS : BKCL_ERROR;
}

int bkcl_recv(BKCLContext_t context, void *to, size_t count, int peer, int type, XPUStream stream)
{
	return bkcl_send(context, to, count, peer, type, stream);
}

int bkcl_group_start(void)
{
	return BKCL_SUCCESS;
}

int bkcl_group_end(void)
{
	return BKCL_SUCCESS;
}
