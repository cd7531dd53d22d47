/* request.h: started receives by the address of their request. One thread. */
#ifndef HK_CLI_FLOW_REQUEST_H
#define HK_CLI_FLOW_REQUEST_H

#include <stdint.h>

struct hk_mail;
struct hk_request;

/* Starts as NULL. */
struct hk_requests {
	struct hk_request *list;
};

/* PROCESS starts a request at ADDRESS, which has no other. Returns 0 or -ENOMEM. */
int hk_requests_put(struct hk_requests *requests, uint32_t process, uint64_t address,
		    struct hk_mail *mail);

/* Removes and returns the one at an address; NULL if there is none there. */
struct hk_mail *hk_requests_take(struct hk_requests *requests, uint32_t process, uint64_t address);

/* The same without removing it. */
struct hk_mail *hk_requests_get(const struct hk_requests *requests, uint32_t process,
				uint64_t address);

/* Removes any one; NULL if all are removed. */
struct hk_mail *hk_requests_take_any(struct hk_requests *requests);

#endif
