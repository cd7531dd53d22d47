/* mailbox.h: which receive got which message, by MPI's rule: messages of one sender to one receiver
 * on one communicator do not overtake each other.
 *
 * Sends and receives come in the order of their starts on a common clock. A message goes to the
 * first receive that takes its tag, a receive gets the first message whose tag it takes. Where
 * that order is not known, nothing is matched: behind a receive from any rank of which nobody told
 * whose message it got, where two threads sent or received at once, where records are missing.
 * Memory is bounded: where too much waits, its lane gives up. One thread.
 */
#ifndef HK_CLI_FLOW_MAILBOX_H
#define HK_CLI_FLOW_MAILBOX_H

#include <stdbool.h>
#include <stdint.h>

#define HK_MAIL_ANY_TAG (-1) /* Open MPI's and MPICH's alike */

struct hk_mailboxes;

struct hk_message {
	uint64_t id; /* never 0 unless the caller says so */
	uint64_t sent_ns, bytes;
	int32_t source; /* rank in the communicator */
};

/* A receive that has been posted; its owner gives it back by hk_mail_take. */
struct hk_mail {
	struct hk_mail *held; /* the owner's own */
	bool counted;	      /* likewise */
	struct hk_mail *next;
	struct hk_mail *previous;
	struct hk_lane *lane; /* where it waits, or NULL */
	int32_t tag;
	uint8_t state; /* the mailboxes' own */
	struct hk_message message;
};

/* One end of a message, as its caller made it. */
struct hk_mail_call {
	uint64_t comm;
	int32_t own, peer; /* ranks in it; PEER may be HK_PEER_ANY where it receives */
	int32_t tag;
	uint32_t process;   /* who is OWN */
	const void *thread; /* of it */
	uint64_t start_ns, end_ns;
};

/* NULL: out of memory. */
struct hk_mailboxes *hk_mailboxes_new(void);
/* Frees, all receives that were not taken included; accepts NULL, returns NULL. */
struct hk_mailboxes *hk_mailboxes_free(struct hk_mailboxes *boxes);

/* MESSAGE is sent by CALL: 1 if a receive got or may get it, 0 if nobody will know; -ENOMEM. */
int hk_mailboxes_send(struct hk_mailboxes *boxes, const struct hk_mail_call *call,
		      const struct hk_message *message);

/* CALL receives: *ret_mail, NULL if nobody will know what. 0 or -ENOMEM. */
int hk_mailboxes_receive(struct hk_mailboxes *boxes, const struct hk_mail_call *call,
			 struct hk_mail **ret_mail);

/* MAIL is done with, at END: whether it got a message, which is set then. Frees it. */
bool hk_mail_take(struct hk_mailboxes *boxes, struct hk_mail *mail, uint64_t end_ns,
		  struct hk_message *ret_message);

/* Nobody knows what goes between OWN and PEER of CALL (HK_PEER_ANY: or whomever) from now on. */
int hk_mailboxes_doubt(struct hk_mailboxes *boxes, const struct hk_mail_call *call);

/* The same of the ranks that MAIL, which may be NULL, goes between. */
void hk_mail_doubt(struct hk_mailboxes *boxes, struct hk_mail *mail);

/* How many messages were received before they were sent, by clocks that are wrong. */
uint64_t hk_mailboxes_early(const struct hk_mailboxes *boxes);

#endif
