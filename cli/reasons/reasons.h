/* reasons.h: all findings of a job: what its numbers show, and what its records add: from when on
 * steps or calls take longer, and whom the ranks waited for. `hookcli why`, the summary of `hookcli
 * run`, the page and the JSON of `hookcli report` have this one list. Main thread only. */
#ifndef HK_CLI_REASONS_REASONS_H
#define HK_CLI_REASONS_REASONS_H

#include <stdint.h>

#include "report/finding/finding.h"
#include "schema/wire.pb-c.h"

#define HK_REASONS_RECORDS UINT64_C(20000000)	       /* read within seconds */
#define HK_REASONS_SUMMARY_RECORDS (UINT64_C(4) << 20) /* read within a second or so */

/* Adds to FINDINGS, those of REPORT, what the records of SNAPSHOT's job say, whose files lie in
 * DIRECTORY: nothing but a fact if there are more than LIMIT. Returns 0, -EBADMSG if records are
 * damaged, -ENOMEM or -errno. */
int hk_reasons_add(const Hk__Snapshot *snapshot, const char *directory,
		   const struct hk_report *report, uint64_t limit, struct hk_findings *findings);

/* Finds what REPORT shows, and what the records add as far as they can be read; DIRECTORY may be
 * NULL. Returns 0 or -ENOMEM; then FINDINGS need no fini. */
int hk_reasons_init(const Hk__Snapshot *snapshot, const char *directory,
		    const struct hk_report *report, uint64_t limit, struct hk_findings *findings);

#endif
