/* stack_advice.h: how to see from where a function is called. Pure functions of the report, any
 * thread. */
#ifndef HK_REPORT_FINDING_STACK_ADVICE_H
#define HK_REPORT_FINDING_STACK_ADVICE_H

#include "report/finding/finding.h"

/* Returns whether REPORT's job recorded the stacks of calls of FUNCTION. */
bool hk_report_has_stacks(const struct hk_report *report, const char *function);

/* Advises FIRST ("" or "do this; "), and a look at the stacks of calls of FUNCTION: of this run if
 * it has them, else of a further one. */
void hk_finding_advise_stack(struct hk_findings *findings, const struct hk_report *report,
			     const char *first, const char *function);

#endif
