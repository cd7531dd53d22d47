#include "report/findings/device/idle.h"

#include <inttypes.h>
#include <math.h>

#include "report/findings/device/use.h"
#include "text/name.h"
#include "text/quantity.h"

#define NAME_COLUMNS 48
/* A shorter use of the devices says nothing. */
#define LEAST_NS 1e9
/* Devices are idle below this share of the time in which the ranks use them, surely below that. */
#define IDLE_SHARE 0.5
#define SURELY_IDLE_SHARE 0.25
/* Without device time, launches must take this share of the time, and waits no more than that. */
#define UNSEEN_LAUNCH_SHARE 0.4
#define UNSEEN_WAIT_SHARE 0.05
/* Copies that wait cost something from this share on. */
#define COPY_SHARE 0.05
/* The host waits for each piece of work if it waits more often than once in two launches, and for
 * this share of the time. */
#define WAITS_PER_LAUNCH 0.5
#define WAITS_SHARE 0.25

#define COPIES_ADVICE "copy less often, or by cudaMemcpyAsync from pinned memory"

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

/* Where the host is while the devices are idle. */
enum cause { IN_OWN_WORK, IN_LAUNCHES, IN_WAITS, IN_COPIES, IN_OTHER_CALLS };

static enum cause cause_of(const struct hk_device_use *use)
{
	const double ns[] = {[IN_LAUNCHES] = use->launches.ns,
			     [IN_WAITS] = use->waits.ns,
			     [IN_COPIES] = use->copies.ns,
			     [IN_OTHER_CALLS] = use->others.ns};
	double own_ns =
	    use->window_ns - ns[IN_LAUNCHES] - ns[IN_WAITS] - ns[IN_COPIES] - ns[IN_OTHER_CALLS];
	enum cause most = IN_LAUNCHES;
	if (waits_each_time(use) && use->waits.ns >= WAITS_SHARE * use->window_ns) {
		return IN_WAITS;
	}
	for (enum cause i = IN_WAITS; i <= IN_OTHER_CALLS; i++) {
		most = ns[i] > ns[most] ? i : most;
	}
	return own_ns > ns[most] ? IN_OWN_WORK : most;
}

static const struct {
	const char *text, *advice;
} causes[] = {
    [IN_OWN_WORK] =
	{": the host works by itself",
	 "the host's own work feeds the device too slowly: hookcli stacks says where it "
	 "is"},
    [IN_LAUNCHES] =
	{": the host launches",
	 "launch less often: fused kernels, CUDA graphs, larger batches; hookcli report "
	 "--by kernel"},
    [IN_WAITS] = {": the host waits for each piece of work",
		  "launch further work before the host waits for the device"},
    [IN_COPIES] = {": the host copies", COPIES_ADVICE},
    [IN_OTHER_CALLS] = {": the host is in other calls",
			"see what these calls are: hookcli report --by function"},
};

/* What devices did is known. Time in other calls is what other findings are about: it is no cost of
 * this one. */
static void idle_add(struct hk_findings *findings, const struct hk_device_use *use)
{
	double busy = use->work_ns / use->window_ns, cost_ns = use->window_ns - use->work_ns;
	enum cause cause = cause_of(use);
	if (busy >= IDLE_SHARE) {
		return;
	}
	hk_finding_add(findings, HK_TOPIC_TIME, HK_WEIGHT_FINDING,
		       "the devices are busy %.0f %% of the time in which the ranks use them%s",
		       100 * busy, causes[cause].text);
	if (cause == IN_OTHER_CALLS) {
		cost_ns = fmax(cost_ns - use->others.ns, 0);
	}
	hk_finding_classify(findings, cause == IN_LAUNCHES ? "launch-bound" : "device-idle",
			    busy < SURELY_IDLE_SHARE && cause != IN_OTHER_CALLS
				? HK_CONFIDENCE_HIGH
				: HK_CONFIDENCE_MEDIUM,
			    cost_ns);
	work_evidence(findings, use);
	hk_finding_advise(findings, "%s", causes[cause].advice);
}

/* Without device time only the host's side is known. */
static void unseen_add(struct hk_findings *findings, const struct hk_device_use *use)
{
	if (use->launches.calls > 0) {
		hk_finding_add(
		    findings, HK_TOPIC_TIME, HK_WEIGHT_FACT,
		    "what the devices did is unknown: hookcli run --device-time says it");
	}
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
	hk_finding_advise(findings, COPIES_ADVICE "%s",
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
