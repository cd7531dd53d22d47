#include "report/finding/stack_advice.h"

#include <string.h>

#include "text/name.h"

#define NAME_COLUMNS 48

bool hk_report_has_stacks(const struct hk_report *report, const char *function)
{
	for (size_t i = 0; i < report->call_count; i++) {
		if (report->calls[i].has_stacks &&
		    strcmp(report->calls[i].function, function) == 0) {
			return true;
		}
	}
	return false;
}

void hk_finding_advise_stack(struct hk_findings *findings, const struct hk_report *report,
			     const char *first, const char *function)
{
	char name[HK_NAME_BYTES(NAME_COLUMNS)];

	hk_name_print(name, NAME_COLUMNS, function);
	if (hk_report_has_stacks(report, function)) {
		hk_finding_advise(findings,
				  "%shookcli report --by stack --function '%s' shows from where it "
				  "is called",
				  first, name);
	} else {
		hk_finding_advise(findings,
				  "%srun with --level '%s=record+stack', then hookcli report --by "
				  "stack --function '%s'",
				  first, name, name);
	}
}
