#include "report/build/device_time.h"

#include <inttypes.h>

#include "ring/segment.h"

/* By enum hk_device_state: a word for JSON, and what a person should know and do. */
static const struct state {
	const char *word, *note;
} states[] = {
    [HK_DEVICE_NONE] = {"none", NULL},
    [HK_DEVICE_ON] = {"on", NULL},
    [HK_DEVICE_SHARED] = {"shared", NULL},
    [HK_DEVICE_YIELDED] = {"yielded", "another tool has the tracing library"},
    [HK_DEVICE_NO_LIBRARY] = {"no library",
			      "no tracing library (set HOOK_CUPTI or HOOK_MSPTI to its file)"},
    [HK_DEVICE_NO_DRIVER] = {"no driver", "no driver, or no device"},
    [HK_DEVICE_OLD_DRIVER] = {"old driver",
			      "the driver is older than the tracing library (update it, or set "
			      "HOOK_CUPTI to an older libcupti)"},
    [HK_DEVICE_NO_RIGHT] = {"no privilege",
			    "the driver lets only administrators trace (load it with "
			    "NVreg_RestrictProfilingToAdminUsers=0)"},
    [HK_DEVICE_NEW_LIBRARY] = {"unknown version",
			       "records of this version of the tracing library are not known"},
    [HK_DEVICE_TAKEN] = {"taken", "another tool was first (run without it)"},
    [HK_DEVICE_FAILED] = {"failed", "the tracing library refused it"},
    [HK_DEVICE_PARENT] = {"parent", "the process was forked after its parent used the device"},
};
#define STATES (sizeof(states) / sizeof(states[0]))

void hk_device_time_fill(const Hk__Process *process, struct hk_report_process *row)
{
	const Hk__DeviceTime *from = process->device_time;
	struct hk_report_device_time *device = &row->device_time;

	if (!from || !from->state) {
		return;
	}
	*device = (struct hk_report_device_time){
	    .known = true,
	    .state = from->state < STATES ? states[from->state].word : "unknown",
	    .note =
		from->state < STATES ? states[from->state].note : "reason unknown to this version",
	    .library = from->library == 2 ? "MSPTI" : "CUPTI",
	    .version = from->version,
	    .status = from->status,
	    .activities = from->activities,
	    .dropped = from->dropped,
	    .unlinked = from->unlinked,
	    .skipped = from->skipped,
	    .yields = from->yields,
	};
}

static void begin(FILE *notes)
{
	fputs(ftell(notes) > 0 ? "; " : "", notes);
}

static void note(FILE *notes, uint64_t count, const char *what)
{
	if (count > 0) {
		begin(notes);
		fprintf(notes, "device time: %" PRIu64 " %s", count, what);
	}
}

void hk_device_time_note(FILE *notes, const struct hk_report_device_time *device)
{
	if (!device->known) {
		return;
	}
	if (device->note) {
		begin(notes);
		fprintf(notes, "device time off: %s", device->note);
		if (device->status) {
			fprintf(notes, " [%s %" PRIu32 ": %" PRId32 "]", device->library,
				device->version, device->status);
		}
	}
	note(notes, device->dropped, "records dropped for lack of buffers");
	note(notes, device->skipped, "records without times");
	note(notes, device->unlinked, "activities without the call that submitted them");
	note(notes, device->yields, "times another tool took over");
}
