/* request.h: receives that have been started, by the address of their request. One thread.
 */
#ifndef HK_CLI_FLOW_REQUEST_H
#define HK_CLI_FLOW_REQUEST_H

#include <stdint.h>

struct hk_mail;
struct hk_request;

/* Starts as NULL. */
struct hk_requests {
	struct hk_request *list;
};

/* PROCESS starts a request at ADDRESS, where none is. 0 or -ENOMEM. */
int hk_requests_put(struct hk_requests *requests, uint32_t process, uint64_t address,
		    struct hk_mail *mail);

/* What was put there, which is gone then; NULL: nothing. */
struct hk_mail *hk_requests_take(struct hk_requests *requests, uint32_t process, uint64_t address);

/* The same, which stays. */
struct hk_mail *hk_requests_get(const struct hk_requests *requests, uint32_t process,
				uint64_t address);

/* Takes any one; NULL: there is none. */
struct hk_mail *hk_requests_take_any(struct hk_requests *requests);

#endif
