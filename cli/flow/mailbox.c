#include "cli/flow/mailbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "hooks/hook.h"

#define WAITING_MOST (1u << 18) /* messages and receives, of all lanes together */
#define WILD_TAGS 16u

enum state {
	STATE_SENT = 0, /* a message that waits in its lane */
	STATE_WAITING,	/* a receive that waits in its lane, and that its owner holds */
	STATE_MATCHED,	/* held by its owner only */
	STATE_GONE,	/* held by its owner only: its lane was emptied */
	STATE_CLOSED,	/* in its lane only: the result is not needed */
};

struct list {
	struct hk_mail *first, *last;
};

/* The last actor at one end of a lane. */
struct side {
	const void *thread;
	uint64_t end_ns;
};

/* Messages from one rank to another. */
struct hk_lane {
	int32_t source;
	uint32_t source_owners, owners; /* `owners` of both ends at the lane's last call */
	bool unknown;
	struct list sent, posted;
	struct side sender, receiver;
	UT_hash_handle hh;
};

struct box_key {
	uint64_t comm;
	int64_t rank;
};

/* A rank of a communicator, with its incoming messages. */
struct box {
	struct box_key key;
	uint32_t owner;	 /* process + 1; 0: has not called yet */
	uint32_t owners; /* number of times that another process took its rank, as in a second job
			    step */
	uint32_t earlier[4];
	bool unknown;
	bool wild_all; /* took messages of unknown tags, or of more than WILD_TAGS, from any rank */
	uint32_t wild_count;
	int32_t wild[WILD_TAGS];
	struct hk_lane *lanes; /* hash table by source */
	UT_hash_handle hh;
};

struct hk_mailboxes {
	struct box *boxes;
	uint32_t waiting;
	uint64_t early;
};

struct hk_mailboxes *hk_mailboxes_new(void)
{
	return calloc(1, sizeof(struct hk_mailboxes));
}

/* ---- items of a lane ---- */

static void append(struct hk_mailboxes *boxes, struct list *list, struct hk_mail *mail)
{
	mail->next = NULL;
	mail->previous = list->last;
	*(list->last ? &list->last->next : &list->first) = mail;
	list->last = mail;
	boxes->waiting++;
}

static void detach(struct hk_mailboxes *boxes, struct list *list, struct hk_mail *mail)
{
	*(mail->previous ? &mail->previous->next : &list->first) = mail->next;
	*(mail->next ? &mail->next->previous : &list->last) = mail->previous;
	mail->lane = NULL;
	boxes->waiting--;
}

static void drop(struct hk_mailboxes *boxes, struct list *list, struct hk_mail *mail)
{
	detach(boxes, list, mail);
	if (mail->state == STATE_WAITING) {
		mail->state = STATE_GONE;
	} else {
		free(mail);
	}
}

static void empty(struct hk_mailboxes *boxes, struct hk_lane *lane)
{
	while (lane->sent.first) {
		drop(boxes, &lane->sent, lane->sent.first);
	}
	while (lane->posted.first) {
		drop(boxes, &lane->posted, lane->posted.first);
	}
}

static void give_up(struct hk_mailboxes *boxes, struct hk_lane *lane)
{
	empty(boxes, lane);
	lane->unknown = true;
}

static bool takes(int32_t wanted, int32_t tag)
{
	return wanted == HK_MAIL_ANY_TAG || wanted == tag;
}

struct hk_mailboxes *hk_mailboxes_free(struct hk_mailboxes *boxes)
{
	struct box *box, *next_box;
	struct hk_lane *lane, *next_lane;

	if (!boxes) {
		return NULL;
	}
	HASH_ITER (hh, boxes->boxes, box, next_box) {
		HASH_ITER (hh, box->lanes, lane, next_lane) {
			HASH_DEL(box->lanes, lane);
			empty(boxes, lane);
			free(lane);
		}
		HASH_DEL(boxes->boxes, box);
		free(box);
	}
	free(boxes);
	return NULL;
}

/* ---- ranks ---- */

static struct box *box_of(struct hk_mailboxes *boxes, uint64_t comm, int32_t rank)
{
	struct box_key key = {comm, rank};
	struct box *box;

	HASH_FIND(hh, boxes->boxes, &key, sizeof(key), box);
	if (box || !(box = calloc(1, sizeof(*box)))) {
		return box;
	}
	box->key = key;
	HASH_ADD(hh, boxes->boxes, key, sizeof(key), box);
	if (!box->hh.tbl) {
		free(box);
		return NULL;
	}
	return box;
}

/* Notes that PROCESS acts as BOX's rank. A process that replaced another one keeps the rank. If the
 * first returns, both are active, and their messages cannot be told apart. */
static void claim(struct box *box, uint32_t process)
{
	uint32_t most = sizeof(box->earlier) / sizeof(box->earlier[0]);

	if (box->owner == process + 1) {
		return;
	}
	for (uint32_t i = 0; i < box->owners && i < most; i++) {
		box->unknown |= box->earlier[i] == process + 1;
	}
	if (box->owner) {
		box->unknown |= box->owners >= most;
		box->earlier[box->owners % most] = box->owner;
		box->owners++;
	}
	box->owner = process + 1;
}

static struct hk_lane *lane_of(struct box *to, int32_t source)
{
	struct hk_lane *lane;

	HASH_FIND(hh, to->lanes, &source, sizeof(source), lane);
	if (lane || !(lane = calloc(1, sizeof(*lane)))) {
		return lane;
	}
	lane->source = source;
	HASH_ADD(hh, to->lanes, source, sizeof(source), lane);
	if (!lane->hh.tbl) {
		free(lane);
		return NULL;
	}
	return lane;
}

static bool is_wild(const struct box *box, int32_t tag)
{
	bool wild = box->wild_all || (tag == HK_MAIL_ANY_TAG && box->wild_count);

	for (uint32_t i = 0; i < box->wild_count && !wild; i++) {
		wild = box->wild[i] == tag;
	}
	return wild;
}

/* Returns the lane FROM one rank TO another in its present state, or NULL without memory. */
static struct hk_lane *lane_now(struct hk_mailboxes *boxes, const struct box *from, struct box *to)
{
	struct hk_lane *lane = lane_of(to, (int32_t)from->key.rank);

	if (!lane) {
		return NULL;
	}
	if (lane->source_owners != from->owners || lane->owners != to->owners) {
		empty(boxes, lane); /* items of earlier processes */
		lane->sender = lane->receiver = (struct side){0};
		lane->source_owners = from->owners;
		lane->owners = to->owners;
	}
	if ((from->unknown || to->unknown) && !lane->unknown) {
		give_up(boxes, lane);
	}
	return lane;
}

/* Returns whether CALL comes after the last one on SIDE. The order of overlapping calls of two
 * threads is unknown. */
static bool in_turn(struct side *side, const struct hk_mail_call *call)
{
	bool turn = !side->thread || side->thread == call->thread || call->start_ns >= side->end_ns;

	side->thread = call->thread;
	side->end_ns = call->end_ns;
	return turn;
}

static struct hk_mail *add(struct hk_mailboxes *boxes, struct hk_lane *lane, struct list *list)
{
	struct hk_mail *mail = calloc(1, sizeof(*mail));

	if (mail) {
		mail->lane = lane;
		append(boxes, list, mail);
	}
	return mail;
}

/* ---- sends ---- */

/* Gives MESSAGE to the first receive that waits for TAG, and sets *RET_THERE if there is one.
 * Returns whether the owner of that receive still holds it. */
static bool deliver(struct hk_mailboxes *boxes, struct hk_lane *lane, int32_t tag,
		    const struct hk_message *message, bool *ret_there)
{
	struct hk_mail *mail = lane->posted.first;
	bool held;

	while (mail && !takes(mail->tag, tag)) {
		mail = mail->next;
	}
	*ret_there = mail != NULL;
	if (!mail) {
		return false;
	}
	held = mail->state == STATE_WAITING;
	detach(boxes, &lane->posted, mail);
	if (held) {
		mail->state = STATE_MATCHED;
		mail->message = *message;
	} else {
		boxes->early += mail->message.id != 0;
		free(mail);
	}
	return held;
}

int hk_mailboxes_send(struct hk_mailboxes *boxes, const struct hk_mail_call *call,
		      const struct hk_message *message)
{
	struct box *from = box_of(boxes, call->comm, call->own);
	struct box *to = box_of(boxes, call->comm, call->peer);
	struct hk_lane *lane;
	struct hk_mail *mail;
	bool there, known;

	if (!from || !to) {
		return -ENOMEM;
	}
	claim(from, call->process);
	lane = lane_now(boxes, from, to);
	if (!lane) {
		return -ENOMEM;
	}
	if (lane->unknown || !in_turn(&lane->sender, call) || boxes->waiting >= WAITING_MOST) {
		give_up(boxes, lane);
		return 0;
	}
	known = deliver(boxes, lane, call->tag, message, &there);
	if (there || is_wild(to, call->tag)) {
		return known;
	}
	mail = add(boxes, lane, &lane->sent);
	if (!mail) {
		return -ENOMEM;
	}
	mail->tag = call->tag;
	mail->message = *message;
	return 1;
}

/* ---- receives ---- */

/* Notes that BOX received a message with TAG, or with any tag, from an unknown rank. */
static void make_wild(struct hk_mailboxes *boxes, struct box *box, int32_t tag)
{
	struct hk_lane *lane, *next_lane;

	if (is_wild(box, tag) && (box->wild_all || tag != HK_MAIL_ANY_TAG)) {
		return;
	}
	if (tag == HK_MAIL_ANY_TAG || box->wild_count == WILD_TAGS) {
		box->wild_all = true;
	} else {
		box->wild[box->wild_count++] = tag;
	}
	HASH_ITER (hh, box->lanes, lane, next_lane) {
		struct hk_mail *mail = lane->sent.first;

		while (mail) {
			struct hk_mail *next = mail->next;

			if (is_wild(box, mail->tag)) {
				drop(boxes, &lane->sent, mail);
			}
			mail = next;
		}
	}
}

/* Detaches and returns the first message for a receive of TAG, or returns NULL. */
static struct hk_mail *fetch(struct hk_mailboxes *boxes, struct hk_lane *lane, int32_t tag)
{
	struct hk_mail *mail = lane->sent.first;

	while (mail && !takes(tag, mail->tag)) {
		mail = mail->next;
	}
	if (mail) {
		detach(boxes, &lane->sent, mail);
		mail->state = STATE_MATCHED;
	}
	return mail;
}

int hk_mailboxes_receive(struct hk_mailboxes *boxes, const struct hk_mail_call *call,
			 struct hk_mail **ret_mail)
{
	struct box *to = box_of(boxes, call->comm, call->own);
	struct box *from;
	struct hk_lane *lane;

	*ret_mail = NULL;
	if (!to) {
		return -ENOMEM;
	}
	claim(to, call->process);
	if (call->peer == HK_PEER_ANY) {
		make_wild(boxes, to, call->tag);
		return 0;
	}
	from = box_of(boxes, call->comm, call->peer);
	lane = from ? lane_now(boxes, from, to) : NULL;
	if (!lane) {
		return -ENOMEM;
	}
	if (call->tag == HK_MAIL_ANY_TAG && is_wild(to, call->tag)) {
		give_up(boxes, lane); /* the remaining tags are unknown */
	}
	if (lane->unknown || !in_turn(&lane->receiver, call) || boxes->waiting >= WAITING_MOST) {
		give_up(boxes, lane);
		return 0;
	}
	if (is_wild(to, call->tag)) {
		return 0;
	}
	*ret_mail = fetch(boxes, lane, call->tag);
	if (*ret_mail) {
		return 0;
	}
	*ret_mail = add(boxes, lane, &lane->posted);
	if (!*ret_mail) {
		return -ENOMEM;
	}
	(*ret_mail)->tag = call->tag;
	(*ret_mail)->state = STATE_WAITING;
	return 0;
}

bool hk_mail_take(struct hk_mailboxes *boxes, struct hk_mail *mail, uint64_t end_ns,
		  struct hk_message *ret_message)
{
	bool matched = mail->state == STATE_MATCHED && mail->message.id;

	if (mail->state == STATE_WAITING) {
		mail->state = STATE_CLOSED; /* the message is still to come */
		mail->message.id = end_ns;
		return false;
	}
	if (matched && mail->message.sent_ns > end_ns) {
		boxes->early++;
		matched = false;
	}
	if (matched) {
		*ret_message = mail->message;
	}
	free(mail);
	return matched;
}

int hk_mailboxes_doubt(struct hk_mailboxes *boxes, const struct hk_mail_call *call)
{
	struct box *own = box_of(boxes, call->comm, call->own);
	struct box *peer = call->peer >= 0 ? box_of(boxes, call->comm, call->peer) : NULL;
	struct hk_lane *in, *out;

	if (!own || (call->peer >= 0 && !peer)) {
		return -ENOMEM;
	}
	if (!peer) {
		own->unknown = true;
		return 0;
	}
	in = lane_of(own, call->peer);
	out = lane_of(peer, call->own);
	if (!in || !out) {
		return -ENOMEM;
	}
	give_up(boxes, in);
	give_up(boxes, out);
	return 0;
}

void hk_mail_doubt(struct hk_mailboxes *boxes, struct hk_mail *mail)
{
	if (mail && mail->lane) {
		give_up(boxes, mail->lane);
	}
}

uint64_t hk_mailboxes_early(const struct hk_mailboxes *boxes)
{
	return boxes->early;
}
