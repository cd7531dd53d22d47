#include "report/findings/device/idle.h"

#include <inttypes.h>

#include "report/findings/device/use.h"
#include "text/name.h"
#include "text/quantity.h"

#define NAME_COLUMNS 48
/* A shorter use of the devices says nothing. */
#define LEAST_NS 1e9
/* Devices are idle below this share of the time in which the ranks use them, surely below that. */
#define IDLE_SHARE 0.5
#define SURELY_IDLE_SHARE 0.25
/* A step is bound by its launches if they take this share of the time. Without device time it takes
 * more to say so, and the host must not wait for the device. */
#define LAUNCH_SHARE 0.2
#define UNSEEN_LAUNCH_SHARE 0.4
#define UNSEEN_WAIT_SHARE 0.05
/* Copies that wait cost something from this share on. */
#define COPY_SHARE 0.05
/* The host waits for each piece of work if it waits more often than once in two launches. */
#define WAITS_PER_LAUNCH 0.5

/* Copies that wait are why the host does not launch. */
#define COPIES_FIRST 0.25

static const char copies_advice[] = "copy less often, or by cudaMemcpyAsync from pinned memory";
static const char launches_advice[] =
    "launch less often: fused kernels, CUDA graphs, larger batches; hookcli report --by kernel";

static double mean_ns(const struct hk_device_calls *calls)
{
	return calls->calls > 0 ? calls->ns / (double)calls->calls : 0;
}

static bool waits_each_time(const struct hk_device_use *use)
{
	return (double)use->waits.calls > WAITS_PER_LAUNCH * (double)use->launches.calls;
}

static void part_evidence(struct hk_findings *findings, const struct hk_device_use *use,
			  const char *what, const struct hk_device_calls *calls)
{
	char mean[HK_QUANTITY_BYTES], name[HK_NAME_BYTES(NAME_COLUMNS)];
	if (calls->calls == 0) {
		return;
	}
	hk_name_print(name, NAME_COLUMNS, calls->function);
	hk_finding_evidence(findings,
			    "%s: %.1f %% of that time, %" PRIu64 " calls of %s (most in %s)", what,
			    100 * calls->ns / use->window_ns, calls->calls,
			    hk_quantity_time(mean, mean_ns(calls)), name);
}

static void work_evidence(struct hk_findings *findings, const struct hk_device_use *use)
{
	char work[HK_QUANTITY_BYTES];
	if (use->have_work && use->works > 0) {
		hk_finding_evidence(
		    findings, "devices: %" PRIu64 " kernels, copies and sets of %s on average",
		    use->works, hk_quantity_time(work, use->work_ns / (double)use->works));
	}
	part_evidence(findings, use, "launches", &use->launches);
	part_evidence(findings, use, "waits for the device", &use->waits);
	part_evidence(findings, use, "copies that wait", &use->copies);
	part_evidence(findings, use, "other hooked calls", &use->others);
}

static void idle_advise(struct hk_findings *findings, const struct hk_device_use *use)
{
	if (waits_each_time(use)) {
		hk_finding_advise(findings,
				  "launch further work before the host waits for the device");
	} else if (use->copies.ns > COPIES_FIRST * use->window_ns) {
		hk_finding_advise(findings, "%s", copies_advice);
	} else if (use->others.ns > 0.5 * use->window_ns) {
		hk_finding_advise(findings, "the host is in other calls meanwhile: see "
					    "hookcli report --by function");
	} else {
		hk_finding_advise(findings, "the host's own work feeds the device too slowly: "
					    "hookcli stacks says where it is");
	}
}

/* What devices did is known. */
static void idle_add(struct hk_findings *findings, const struct hk_device_use *use)
{
	double busy = use->work_ns / use->window_ns, idle_ns = use->window_ns - use->work_ns;
	bool launches = use->launches.ns >= LAUNCH_SHARE * use->window_ns && !waits_each_time(use);
	char rate[HK_QUANTITY_BYTES];
	if (busy >= IDLE_SHARE) {
		return;
	}
	if (launches) {
		hk_finding_add(
		    findings, HK_TOPIC_TIME, HK_WEIGHT_FINDING,
		    "the devices wait for launches: busy %.0f %% of the time, %s launches "
		    "a second of each rank",
		    100 * busy,
		    hk_quantity_count(rate, (double)use->launches.calls * 1e9 / use->window_ns));
	} else {
		hk_finding_add(
		    findings, HK_TOPIC_TIME, HK_WEIGHT_FINDING,
		    "the devices are busy %.0f %% of the time in which the ranks use them%s",
		    100 * busy,
		    waits_each_time(use) ? ": the host waits for each piece of work" : "");
	}
	hk_finding_classify(findings, launches ? "launch-bound" : "device-idle",
			    busy < SURELY_IDLE_SHARE ? HK_CONFIDENCE_HIGH : HK_CONFIDENCE_MEDIUM,
			    idle_ns);
	work_evidence(findings, use);
	if (launches) {
		hk_finding_advise(findings, "%s", launches_advice);
	} else {
		idle_advise(findings, use);
	}
}

/* Without device time only the host's side is known. */
static void unseen_add(struct hk_findings *findings, const struct hk_device_use *use)
{
	if (use->launches.ns < UNSEEN_LAUNCH_SHARE * use->window_ns ||
	    use->waits.ns > UNSEEN_WAIT_SHARE * use->window_ns) {
		return;
	}
	hk_finding_add(
	    findings, HK_TOPIC_TIME, HK_WEIGHT_FINDING,
	    "launches take %.0f %% of the time in which the ranks use devices, waits for "
	    "them %.1f %%",
	    100 * use->launches.ns / use->window_ns, 100 * use->waits.ns / use->window_ns);
	hk_finding_classify(findings, "launch-bound", HK_CONFIDENCE_LOW, use->launches.ns);
	work_evidence(findings, use);
	hk_finding_advise(findings, "hookcli run --device-time says whether the devices are idle");
}

/* A copy that waits delays nothing while the device has work. */
static void copies_add(struct hk_findings *findings, const struct hk_device_use *use)
{
	const struct hk_device_calls *copies = &use->copies;
	bool idle = use->have_work && use->work_ns < IDLE_SHARE * use->window_ns;
	char name[HK_NAME_BYTES(NAME_COLUMNS)], mean[HK_QUANTITY_BYTES], size[HK_QUANTITY_BYTES];
	if (copies->ns < COPY_SHARE * use->window_ns || copies->calls == 0 ||
	    (use->have_work && !idle)) {
		return;
	}
	hk_name_print(name, NAME_COLUMNS, copies->function);
	hk_finding_add(
	    findings, HK_TOPIC_TIME, HK_WEIGHT_FINDING,
	    "%s returns when the data is there: %.1f %% of the time in which the ranks use "
	    "devices",
	    name, 100 * copies->ns / use->window_ns);
	hk_finding_classify(findings, "synchronous-copies",
			    idle ? HK_CONFIDENCE_MEDIUM : HK_CONFIDENCE_LOW, copies->ns);
	hk_finding_about_function(findings, copies->function);
	hk_finding_evidence(
	    findings, "%" PRIu64 " copies, %s and %s each", copies->calls,
	    hk_quantity_time(mean, mean_ns(copies)),
	    hk_quantity_bytes(size, (uint64_t)(copies->bytes / (double)copies->calls)));
	hk_finding_advise(findings, "%s%s", copies_advice,
			  use->have_work ? ""
					 : "; hookcli run --device-time says whether the device "
					   "is idle meanwhile");
}

void hk_findings_add_idle(const struct hk_report *report, const struct hk_groups *groups,
			  struct hk_findings *findings)
{
	struct hk_device_use use = hk_device_use_of(report, groups);
	if (use.ranks == 0 || use.window_ns < LEAST_NS * (double)use.ranks) {
		return;
	}
	if (use.have_work) {
		idle_add(findings, &use);
	} else {
		unseen_add(findings, &use);
	}
	copies_add(findings, &use);
}
