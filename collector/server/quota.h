/* quota.h: the limits of an account of a collector, and how much of them it uses.
 *
 * The accounts are: the local socket; connections without a token so far; loopback TCP of a
 * collector without tokens; and each user with tokens, or each token without a user. An account at
 * its limits takes nothing from another account. Its connections wait or are refused, which is
 * counted and shown by `status`. The hub's lock or the collector's thread guards a field, as its
 * comment says. Lifetime: the server's.
 */
#ifndef HK_COLLECTOR_SERVER_QUOTA_H
#define HK_COLLECTOR_SERVER_QUOTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/server/policy.h"
#include "collector/server/rejections.h"

/* ---- the limits, per account unless said otherwise ---- */

/* Messages below this many bytes have a reserve of their own, so that they overtake large ones.
 * Leaves' reports and queries are mostly below it, chunks above. */
#define HK_QUOTA_SHORT_BYTES (64u << 10)
/* Bytes of short requests, from their arrival to their answer: some hundred requests at a time. */
#define HK_QUOTA_HELD_SHORT (32u << 20)
/* Bytes of long requests, from their arrival to their answer: 48 chunks of 1 MiB. One message at a
 * time may exceed it. */
#define HK_QUOTA_HELD_LONG (48u << 20)
/* Long requests of all accounts but the local one; each account may always have one. */
#define HK_QUOTA_HELD_ALL (256u << 20)
/* Memory of one unpacked request: the largest process that can be saved has 16 MiB, and unpacked
 * about four times as much. */
#define HK_QUOTA_UNPACKED (96u << 20)
/* Bytes of answers that are not read yet, beyond which `status`, `list` and snapshots wait: a
 * snapshot of 1,024 ranks has 13 MiB. */
#define HK_QUOTA_UNSENT_LARGE (32u << 20)
/* The same, beyond which every request waits. */
#define HK_QUOTA_UNSENT (64u << 20)
/* Open jobs: each has two descriptors and 2 MiB of reserve on the disk. */
#define HK_QUOTA_JOBS 512u
/* Open jobs of all accounts but the local one take at most this part of the descriptors. */
#define HK_QUOTA_JOBS_FDS 8u
/* Job directories at once, and after that one per second: a busy site's short jobs, not a flood. */
#define HK_QUOTA_DIRECTORIES 1024u
/* Jobs that one report may open: each takes about a millisecond. The others come with the next. */
#define HK_QUOTA_JOBS_PER_REPORT 16u
/* Values of processes in memory: this part of what the collector may have, but not less than the
 * other number of bytes. 1,024 ranks with 200 call sites take 143 MiB. */
#define HK_QUOTA_VALUES_PART 8u
#define HK_QUOTA_VALUES_MIN (UINT64_C(192) << 20)
/* Leaves that report with its tokens. A further leaf replaces a silent one. */
#define HK_QUOTA_LEAVES 2048u
/* Time of the collector's thread for requests before it turns to its other work. */
#define HK_QUOTA_TURN_NS UINT64_C(20000000)
/* Connections: eighths of all that the collector takes. The rest, an eighth, is the local
 * socket's alone. If all known ones are taken, an account with fewer connections than another gets
 * the idlest one of the account with most. */
#define HK_QUOTA_UNAUTHENTICATED_EIGHTHS 2u
#define HK_QUOTA_KNOWN_EIGHTHS 5u
/* Bytes of texts that describe a job: more is cut off. `status` shows all jobs in one message. */
#define HK_QUOTA_COMMAND_BYTES (16u << 10)
#define HK_QUOTA_NAME_BYTES 1024u

/* ---- accounts ---- */

enum hk_account_kind {
	HK_ACCOUNT_LOCAL,
	HK_ACCOUNT_UNAUTHENTICATED,
	HK_ACCOUNT_OPEN,  /* loopback TCP without tokens */
	HK_ACCOUNT_TOKEN, /* this and following: HK_ACCOUNT_TOKEN + number of the policy */
};

enum hk_held {
	HK_HELD_SHORT,
	HK_HELD_LONG,
	HK_HELD_KINDS,
};

struct hk_incoming;

struct hk_account {
	char name[HK_ACCESS_USER_MAX + 16];
	/* Hub's lock. */
	size_t held[HK_HELD_KINDS]; /* bytes of requests that are not answered */
	size_t unsent;		    /* bytes of answers */
	uint32_t connections;
	const void *leading; /* connection that may exceed HK_QUOTA_HELD_LONG; NULL: none */
	struct hk_incoming *incoming; /* in order of coming, those looked at behind */
	uint64_t served_ns;	      /* virtual time: the least is served next */
	/* Any thread. */
	_Atomic uint64_t refused;  /* requests, connections, jobs, processes */
	_Atomic(const char *) why; /* of the last refusal, a literal; NULL: none was */
	/* The collector's thread. */
	uint64_t loop_ns;   /* time that its requests took */
	uint32_t open_jobs; /* at the last hk_job_quota_count_jobs */
	uint64_t values_bytes;
	uint64_t directories_due_ns; /* monotonic: when all of HK_QUOTA_DIRECTORIES may be made */
};

struct hk_quota {
	struct hk_rejections *refusals; /* borrowed */
	struct hk_account *accounts;
	size_t count;
	size_t held_all; /* hub's lock: long, of all but the local account */
	uint64_t values_max;
	uint32_t jobs_max; /* open, of all but the local account */
};

/* Makes the accounts of POLICY's tokens and of the other kinds. REFUSALS logs. Returns NULL without
 * memory. */
struct hk_quota *hk_quota_new(const struct hk_policy *policy, struct hk_rejections *refusals);
/* Frees; accepts NULL, returns NULL. */
struct hk_quota *hk_quota_free(struct hk_quota *quota);

/* ---- bytes of requests; the hub's lock is held ---- */

/* Returns whether OWNER, a connection, may hold MORE bytes of KIND. In an account at its limit, one
 * owner at a time may still hold more long ones. */
bool hk_quota_fits(struct hk_quota *quota, struct hk_account *account, const void *owner,
		   enum hk_held kind, size_t more);
void hk_quota_hold(struct hk_quota *quota, struct hk_account *account, enum hk_held kind,
		   size_t bytes);
/* OWNER: it leads no more; NULL: not said. */
void hk_quota_release(struct hk_quota *quota, struct hk_account *account, const void *owner,
		      enum hk_held kind, size_t bytes);

/* ---- the collector's thread ---- */

/* Takes one of the account's job directories at NOW_NS. Returns whether there was one. */
bool hk_quota_directory(struct hk_account *account, uint64_t now_ns);

/* Books BYTES more of values for ACCOUNT. Returns 0, or -EDQUOT, which is counted. */
int hk_quota_values(struct hk_quota *quota, struct hk_account *account, uint64_t bytes);

/* ACCOUNT, or NULL for the local one, whose jobs have no limit. */
struct hk_account *hk_quota_payer(struct hk_quota *quota, struct hk_account *account);

/* Sets the message to what ACCOUNT uses. Texts belong to the account. The hub's lock is held. */
void hk_quota_show(const struct hk_account *account, Hk__Account *ret_account);

/* Cuts TEXT to MOST bytes. */
void hk_quota_cut(char *text, size_t most);

/* ---- any thread ---- */

/* Counts a refusal of ACCOUNT and has it logged. WHY: a literal. */
void hk_quota_refuse(struct hk_quota *quota, struct hk_account *account, const char *why);

#endif
