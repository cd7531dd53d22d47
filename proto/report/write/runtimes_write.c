#include "report/write/runtimes_write.h"

#include <string.h>

#include "text/name.h"

#define NAMED 4u
#define NAME_COLUMNS 32

/* Whether an earlier row of REPORT has the library of row NUMBER. Texts are shared. */
static bool is_repeated(const struct hk_report *report, size_t number)
{
	size_t before = 0;

	while (before < number &&
	       report->runtimes[before].library != report->runtimes[number].library) {
		before++;
	}
	return before < number;
}

static void libraries_write(const struct hk_report *report, FILE *output)
{
	char name[HK_NAME_BYTES(NAME_COLUMNS)];
	size_t shown = 0, more = 0;
	bool driver = false;

	fputs("CUDA runtime linked into ", output);
	for (size_t i = 0; i < report->runtime_count; i++) {
		driver |= report->runtimes[i].driver;
		if (is_repeated(report, i)) {
			continue;
		}
		if (shown == NAMED) {
			more++;
			continue;
		}
		hk_name_print_end(name, NAME_COLUMNS, hk_name_base(report->runtimes[i].library));
		fprintf(output, "%s%s", shown++ > 0 ? ", " : "", name);
	}
	if (more > 0) {
		fprintf(output, " and %zu more", more);
	}
	fprintf(output, ": its cuda* calls are not seen, %s\n",
		driver ? "its calls of the CUDA driver are" : "and no CUDA driver was loaded");
}

/* A runtime in a library that was not looked into, as on a node of another version. */
static bool is_driver_alone(const struct hk_report *report)
{
	bool driver = false, runtime = false;

	for (size_t i = 0; i < report->call_count; i++) {
		const char *function = report->calls[i].function;
		bool cuda = strcmp(report->calls[i].domain, "cuda") == 0;
		runtime |= cuda && strncmp(function, "cuda", 4) == 0;
		driver |= cuda && strncmp(function, "cu", 2) == 0 && function[2] >= 'A' &&
			  function[2] <= 'Z';
	}
	return driver && !runtime;
}

void hk_runtimes_write(const struct hk_report *report, FILE *output)
{
	if (report->runtime_count > 0) {
		libraries_write(report, output);
	} else if (is_driver_alone(report)) {
		fputs("calls of the CUDA driver only: a CUDA runtime that is linked into the "
		      "program or a library is seen by these alone\n",
		      output);
	}
}
