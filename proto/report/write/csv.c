/* Writes the call rows as comma-separated values (RFC 4180). Unmeasured values are empty. */
#include <errno.h>
#include <inttypes.h>

#include "report/model/report.h"
#include "report/write/write.h"
#include "text/csv_text.h"

static void text(FILE *output, const char *value)
{
	putc_unlocked(',', output);
	hk_csv_text(output, value);
}

static void number(FILE *output, bool measured, uint64_t value)
{
	if (measured) {
		fprintf(output, ",%" PRIu64, value);
	} else {
		fputc(',', output);
	}
}

int hk_report_write_csv(const struct hk_report *report, FILE *output)
{
	fputs("rank,role,domain,function,library,calls,errors,total_ns,self_ns,outermost_ns,bytes,"
	      "min_ns,mean_ns,p50_ns,p90_ns,p99_ns,max_ns,device_ns\n",
	      output);
	for (size_t i = 0; i < report->call_count; i++) {
		const struct hk_report_call *call = &report->calls[i];
		const struct hk_report_numbers *n = &call->numbers;
		fprintf(output, "%" PRId32 ",%s", call->rank, call->role);
		text(output, call->domain);
		text(output, call->function);
		text(output, call->library);
		number(output, true, n->calls);
		number(output, true, n->errors);
		number(output, n->have_total, n->total_ns);
		number(output, n->have_total, n->self_ns);
		number(output, n->have_total, n->outermost_ns);
		number(output, n->have_bytes, n->bytes);
		number(output, n->have_latency, n->min_ns);
		number(output, n->have_latency, n->mean_ns);
		number(output, n->have_latency, n->p50_ns);
		number(output, n->have_latency, n->p90_ns);
		number(output, n->have_latency, n->p99_ns);
		number(output, n->have_latency, n->max_ns);
		number(output, n->have_device, n->device_ns);
		fputc('\n', output);
	}
	return ferror(output) ? -EIO : 0;
}
