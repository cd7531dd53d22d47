#include "agent/start.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/annotate.h"
#include "agent/annotate_names.h"
#include "agent/call/open.h"
#include "agent/call/thread_start.h"
#include "agent/compat/compat.h"
#include "agent/device/device.h"
#include "agent/frame/rules.h"
#include "agent/frame/site.h"
#include "agent/frame/site_table.h"
#include "agent/frame/state.h"
#include "agent/hooks/hookset.h"
#include "agent/memory/arena.h"
#include "agent/nccl_profiler.h"
#include "agent/nvtx.h"
#include "agent/patch/change.h"
#include "agent/patch/entry.h"
#include "agent/patch/patch.h"
#include "agent/record/process.h"
#include "agent/record/thread.h"
#include "agent/runtime/device.h"
#include "agent/runtime/kernels.h"
#include "agent/runtime/mpi.h"
#include "agent/runtime/nccl.h"
#include "agent/sites.h"
#include "agent/stack/answer.h"
#include "agent/stack/interpreter.h"
#include "agent/wrap/dl.h"
#include "agent/wrap/exec.h"
#include "agent/wrap/pointer.h"
#include "agent/wrap/tracing.h"
#include "base/clock.h"
#include "base/identity.h"
#include "ring/kernel.h"

extern uint8_t hk_clock_by_call; /* frame/site.c */
extern int on_exit(void (*function)(int code, void *data), void *data) __attribute__((weak));

/* What this process was started with last. */
static struct {
	const struct hk_hookset *set; /* NULL: never started */
	char *const *environment;
	bool prepared; /* what is done once is done */
} last;

void hk_start_say(char *const *environment, const char *reason)
{
	const char *log = hk_identity_variable(environment, "HOOK_LOG");
	if (!log || !log[0] || !reason[0]) {
		return;
	}
	const char *part[] = {"hooktrace: ", reason, "\n"};
	for (unsigned i = 0; i < sizeof(part) / sizeof(part[0]); i++) {
		size_t length = 0;
		while (part[i][length]) {
			length++;
		}
		hk_kernel(SYS_write, 2, part[i], length, 0, 0, 0);
	}
}

static void at_exit(int code, void *unused)
{
	(void)unused;
	/* Calls around exit() itself never return. */
	if (hk_thread_current->ready) {
		hk_open_end(hk_thread_current);
	}
	hk_process_end(code);
}

/* Returns the processor time of this thread: waiting for a processor is no cost of the start. */
static uint64_t cpu_ns(void)
{
	struct timespec now = {0};
	hk_kernel(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &now, 0, 0, 0, 0);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Forgets what belongs to an unloaded object. */
static void forget(struct hk_span span)
{
	hk_annotate_names_forget(span);
	hk_kernels_forget(span);
}

/* ---- settings ---- */

static bool same_value(char *const *one, char *const *other, const char *name)
{
	const char *a = hk_identity_variable(one, name), *b = hk_identity_variable(other, name);
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Returns whether the hooks of the last start are those of ENVIRONMENT. Files may have changed. */
static bool has_same_hooks(char *const *environment)
{
	static const char *const names[] = {"HOOK_HOOKS", "HOOK_LEVEL", "HOOK_FROM"};
	const char *hooks = hk_identity_variable(environment, "HOOK_HOOKS");
	bool same = last.set && !hk_identity_variable(environment, "HOOK_COMPAT") &&
		    !hk_identity_variable(last.environment, "HOOK_COMPAT") &&
		    (!hooks || (!strchr(hooks, '/') && !strstr(hooks, ".hooks")));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && same; i++) {
		same = same_value(environment, last.environment, names[i]);
	}
	return same;
}

/* Returns the hooks of ENVIRONMENT, or NULL without memory. */
static const struct hk_hookset *load_hooks(char *const *environment, bool same)
{
	char changed[HK_REASON_BYTES];
	struct hk_hookset *set = same ? NULL : hk_arena_take(sizeof(*set));
	if (!same && !set) {
		return NULL;
	}
	if (set) {
		hk_hookset_load(environment, set);
	}
	const struct hk_hookset *loaded = set ? set : last.set;
	hk_change_start(loaded, changed, sizeof(changed));
	hk_process_add_note(loaded->problem);
	hk_process_add_note(changed);
	hk_start_say(environment, loaded->problem);
	hk_start_say(environment, changed);
	return loaded;
}

/* ---- start ---- */

/* Does what is done once in a process. */
static void prepare(char *const *environment, const struct hk_hookset *set)
{
	hk_clock_by_call = !hk_process.tsc;
	hk_state_setup();
	on_exit(at_exit, NULL);
	hk_thread_setup();
	hk_compat_start(&set->compat);
	hk_nvtx_start(environment);
	hk_nccl_profiler_start(environment, set->text);
	hk_dl_start();
	if (hk_device_start(environment, hk_annotate_work)) {
		hk_tracing_start();
	}
	hk_entry_start(hk_pointer_of_entry);
	hk_mpi_setup();
	hk_device_setup();
	hk_nccl_setup();
	hk_kernels_setup();
	hk_interpreter_setup();
	last.prepared = true;
}

/* Makes the sites of the last start those of SET. */
static bool resume_sites(const struct hk_hookset *set)
{
	if (!hk_process_lock()) {
		return false;
	}
	hk_rules_forget();
	hk_sites_start(set);
	hk_site_resume(set == last.set, hk_sites_level);
	hk_process_unlock();
	return true;
}

/* Closes the segment. Within the loader's lock, between the last scan and the restored slots. */
static bool close_all(void)
{
	if (!hk_process_lock()) {
		return false;
	}
	hk_answer_stop();
	hk_site_table_pass_all();
	hk_thread_retire_all();
	hk_process_detach();
	hk_process_unlock();
	return true;
}

/* Patches the process, which has a segment. Returns false if that is impossible now. */
static bool patch(char *const *environment, const struct hk_hookset *set, bool late)
{
	bool again = last.prepared;
	if (!again) {
		prepare(environment, set);
	} else if (!resume_sites(set)) {
		return false;
	}
	(late ? hk_answer_start_late : hk_answer_start)();
	hk_annotate_names_start(set->default_level);
	hk_sites_start(set);
	hk_exec_start(environment);
	if (!again) {
		hk_patch_start(set, forget, late);
	}
	return !again || hk_patch_resume(set);
}

static void copy_reason(char reason[HK_REASON_BYTES], const char *text)
{
	memcpy(reason, text, strlen(text) + 1);
}

int hk_start(int argc, char **argv, char *const *environment, bool late,
	     char reason[HK_REASON_BYTES])
{
	uint64_t began_ns = cpu_ns();
	hk_process.began_ns = hk_clock_monotonic_ns();
	const struct hk_hookset *set = load_hooks(environment, has_same_hooks(environment));
	if (!set) {
		copy_reason(reason, "no memory");
		return -1;
	}
	if (hk_process_start(argc, argv, environment, set->text, set->default_level, reason) < 0) {
		return -1;
	}
	bool patched = patch(environment, set, late);
	last.set = set;
	last.environment = environment;
	if (!patched) {
		close_all();
		copy_reason(reason, "the dynamic loader or the agent is busy: try again");
		return -1;
	}
	uint64_t setup_ns = cpu_ns() - began_ns;
	hk_process.writer.header->setup_ns =
	    setup_ns < UINT32_MAX ? (uint32_t)setup_ns : UINT32_MAX;
	return 0;
}

int hk_stop(char reason[HK_REASON_BYTES])
{
	if (hk_process.sealed) {
		copy_reason(reason, "the process is a sandbox, in which the agent may do nothing");
		return -1;
	}
	if (!hk_patch_stop(close_all)) {
		copy_reason(reason, "the dynamic loader or the agent is busy: try again");
		return -1;
	}
	return 0;
}
