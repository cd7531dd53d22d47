#include "cli/flow/request.h"

#include <errno.h>
#include <stdlib.h>
#include <uthash.h>

struct hk_request {
	struct {
		uint64_t address, process;
	} key;
	struct hk_mail *mail;
	UT_hash_handle hh;
};

static struct hk_request *find(const struct hk_requests *requests, uint32_t process,
			       uint64_t address)
{
	struct hk_request *request;
	const struct hk_request like = {.key = {address, process}};

	HASH_FIND(hh, requests->list, &like.key, sizeof(like.key), request);
	return request;
}

static struct hk_mail *take(struct hk_requests *requests, struct hk_request *request)
{
	struct hk_mail *mail = request ? request->mail : NULL;

	if (request) {
		HASH_DEL(requests->list, request);
		free(request);
	}
	return mail;
}

int hk_requests_put(struct hk_requests *requests, uint32_t process, uint64_t address,
		    struct hk_mail *mail)
{
	struct hk_request *request = calloc(1, sizeof(*request));

	if (!request) {
		return -ENOMEM;
	}
	request->key.address = address;
	request->key.process = process;
	request->mail = mail;
	HASH_ADD(hh, requests->list, key, sizeof(request->key), request);
	if (!request->hh.tbl) {
		free(request);
		return -ENOMEM;
	}
	return 0;
}

struct hk_mail *hk_requests_take(struct hk_requests *requests, uint32_t process, uint64_t address)
{
	return take(requests, find(requests, process, address));
}

struct hk_mail *hk_requests_get(const struct hk_requests *requests, uint32_t process,
				uint64_t address)
{
	const struct hk_request *request = find(requests, process, address);

	return request ? request->mail : NULL;
}

struct hk_mail *hk_requests_take_any(struct hk_requests *requests)
{
	return take(requests, requests->list);
}
