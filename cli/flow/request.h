/* request.h: a table of started receives by the addresses of their requests. One thread. */
#ifndef HK_CLI_FLOW_REQUEST_H
#define HK_CLI_FLOW_REQUEST_H

#include <stdint.h>

struct hk_mail;
struct hk_request;

/* NULL at first. */
struct hk_requests {
	struct hk_request *list;
};

/* Adds the receive that PROCESS started with a request at ADDRESS, which has no other. Returns 0 or
 * -ENOMEM. */
int hk_requests_put(struct hk_requests *requests, uint32_t process, uint64_t address,
		    struct hk_mail *mail);

/* Removes and returns the receive at an address, or NULL if the table has none. */
struct hk_mail *hk_requests_take(struct hk_requests *requests, uint32_t process, uint64_t address);

/* Returns the receive at an address without removing it, or NULL. */
struct hk_mail *hk_requests_get(const struct hk_requests *requests, uint32_t process,
				uint64_t address);

/* Removes and returns any receive, or NULL if the table is empty. */
struct hk_mail *hk_requests_take_any(struct hk_requests *requests);

#endif
