/* delay_findings.h: adds what made ranks late, and the critical path, to the findings of a job.
 * Locked by the caller. */
#ifndef HK_CLI_DELAY_DELAY_FINDINGS_H
#define HK_CLI_DELAY_DELAY_FINDINGS_H

#include "cli/delay/delay.h"
#include "cli/delay/path.h"
#include "report/finding/finding.h"

/* Adds to each finding about one slow rank what made the others wait for it, and the rank's part of
 * the critical path. Adds the path as a fact. */
void hk_delay_findings_add(const struct hk_history *history, const struct hk_delays *delays,
			   const struct hk_path *path, struct hk_findings *findings);

#endif
