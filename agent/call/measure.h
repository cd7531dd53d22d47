/* measure.h: writes the statistics, values and record of a call. General registers only. */
#ifndef HK_AGENT_CALL_MEASURE_H
#define HK_AGENT_CALL_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/frame/call.h"
#include "agent/frame/hot.h"
#include "agent/record/thread.h"

/* Adds the duration NS of CALL, which returned, to the statistics of THREAD, and records the call.
 */
void hk_call_measure(struct hk_thread *thread, struct hk_call *call, uint64_t ns);

/* Records OPEN of THREAD, which will never return, and hooks its lazy slot again. */
void hk_call_left(struct hk_thread *thread, const struct hk_open_call *open);

/* Puts the thunk of SITE back into its lazy slot, now or with the next scan. Called when the first
 * call of SITE has returned to RETURN_ADDRESS, or was left (0). */
void hk_call_rearm(const struct hk_site_hot *site, uint64_t return_address);

/* Adds the duration NS of a call of a plain site (plain_call.h), and records it. FAILED: it counts
 * as an error. CALL has thread, cell, site, start, depth and domains. */
void hk_call_measure_plain(struct hk_thread *thread, struct hk_call *call, uint64_t ns,
			   bool failed);

/* Counts and records CALL, an instant, with the value of its site's key, if it has one. CALL has
 * thread, cell, site, depth and start. */
void hk_call_note_instant(struct hk_call *call, const uint64_t *value);

/* Counts CALL, which took NS and BYTES elsewhere: its time is no time of this thread. */
void hk_call_note_duration(struct hk_call *call, uint64_t ns, uint64_t bytes);

#endif
