/* otlp.h: pushes messages to a receiver of OTLP/HTTP: when one is due, what became of it, and when
 * the next one may go.
 *
 * Values are cumulative, so a message that was not taken is not kept: the next one says the same
 * and more. One message is under way at most. The collector's thread calls all functions here and
 * never waits. What a message holds is not known here (metrics/message.h).
 */
#ifndef HK_COLLECTOR_OTLP_OTLP_H
#define HK_COLLECTOR_OTLP_OTLP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/model/options.h"
#include "wire/key_file.h"

struct hk_otlp;

struct hk_otlp_counts {
	bool accepted;	   /* the receiver took the last message */
	uint64_t taken;	   /* messages */
	uint64_t failed;   /* messages that it did not take */
	uint64_t rejected; /* data points of messages that it took */
};

/* Prepares to push to options.otlp, which must be set. Reads the files of OPTIONS. Returns 0, or
 * -errno with the reason in PROBLEM. */
int hk_otlp_open(const struct hk_collector_options *options, struct hk_otlp **ret_otlp,
		 char problem[HK_ACCESS_PROBLEM_BYTES]);

/* Ends what is under way, and frees; accepts NULL, returns NULL. */
struct hk_otlp *hk_otlp_free(struct hk_otlp *otlp);

/* Takes the result of the last message, if it is there. Returns true if the next one is due at
 * NOW_NS (monotonic). */
bool hk_otlp_due(struct hk_otlp *otlp, uint64_t now_ns);

/* Sends a message that was due and whose making began at BEGIN_NS. Takes BYTES over. NULL: there
 * was no memory for it. */
void hk_otlp_send(struct hk_otlp *otlp, uint8_t *bytes, size_t size, uint64_t begin_ns);

void hk_otlp_counts(const struct hk_otlp *otlp, struct hk_otlp_counts *ret_counts);

#endif
