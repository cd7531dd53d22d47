/* mailbox.h: matches receives with messages by MPI's rule: messages of one sender to one receiver
 * on one communicator do not overtake each other. Sends and receives come in the order of their
 * starts on a common clock. A message goes to the first receive that takes its tag, a receive gets
 * the first message whose tag it takes. Without a certain order nothing is matched: behind a
 * receive from any rank with an unknown sender, for two threads that send or receive at once, and
 * after missing records. Memory is bounded: while 2^18 items of all lanes wait, a lane with a
 * further call is emptied and matches no more. One thread. */
#ifndef HK_CLI_FLOW_MAILBOX_H
#define HK_CLI_FLOW_MAILBOX_H

#include <stdbool.h>
#include <stdint.h>

#define HK_MAIL_ANY_TAG (-1) /* value in Open MPI and MPICH */

struct hk_mailboxes;

struct hk_message {
	uint64_t id; /* 0 only if the caller sets it so */
	uint64_t sent_ns, bytes;
	int32_t source; /* rank in the communicator */
};

/* A posted receive; its owner releases it by hk_mail_take. */
struct hk_mail {
	struct hk_mail *held; /* owner's field */
	bool counted;	      /* owner's field */
	struct hk_mail *next;
	struct hk_mail *previous;
	struct hk_lane *lane; /* lane where it waits, or NULL */
	int32_t tag;
	uint8_t state; /* private to mailbox.c */
	struct hk_message message;
};

/* One end of a message, as the call gives it. */
struct hk_mail_call {
	uint64_t comm;
	int32_t own, peer; /* ranks in it; a receive's PEER may be HK_PEER_ANY */
	int32_t tag;
	uint32_t process;   /* process of rank OWN */
	const void *thread; /* thread of that process */
	uint64_t start_ns, end_ns;
};

/* Returns NULL without memory. */
struct hk_mailboxes *hk_mailboxes_new(void);
/* Frees everything, including receives that were not taken; accepts NULL, returns NULL. */
struct hk_mailboxes *hk_mailboxes_free(struct hk_mailboxes *boxes);

/* Sends MESSAGE by CALL. Returns 1 if a receive has got it or may get it, 0 if that will stay
 * unknown, or -ENOMEM. */
int hk_mailboxes_send(struct hk_mailboxes *boxes, const struct hk_mail_call *call,
		      const struct hk_message *message);

/* Posts the receive of CALL and sets *ret_mail, to NULL if its message will stay unknown. Returns 0
 * or -ENOMEM. */
int hk_mailboxes_receive(struct hk_mailboxes *boxes, const struct hk_mail_call *call,
			 struct hk_mail **ret_mail);

/* Releases MAIL at END. Returns whether it got a message, and sets *ret_message then. */
bool hk_mail_take(struct hk_mailboxes *boxes, struct hk_mail *mail, uint64_t end_ns,
		  struct hk_message *ret_message);

/* Stops matching messages between OWN and PEER of CALL (HK_PEER_ANY: any rank). Returns 0 or
 * -ENOMEM. */
int hk_mailboxes_doubt(struct hk_mailboxes *boxes, const struct hk_mail_call *call);

/* Stops matching messages between the ranks of MAIL, which may be NULL. */
void hk_mail_doubt(struct hk_mailboxes *boxes, struct hk_mail *mail);

/* Returns the number of messages that were received before they were sent, because clocks are
 * wrong. */
uint64_t hk_mailboxes_early(const struct hk_mailboxes *boxes);

#endif
