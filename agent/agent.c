/* agent.c: the agent's constructor and its end at exit. Neither may break the host. */
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>

#include "agent/annotate.h"
#include "agent/annotate_names.h"
#include "agent/call/open.h"
#include "agent/call/thread_start.h"
#include "agent/compat/compat.h"
#include "agent/device/device.h"
#include "agent/frame/state.h"
#include "agent/hooks/hookset.h"
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
#include "agent/wrap/sandbox.h"
#include "agent/wrap/tracing.h"
#include "base/clock.h"
#include "base/identity.h"
#include "ring/kernel.h"

extern uint8_t hk_clock_by_call; /* frame/site.c */

/* Only glibc has these. Another libc's loader, such as musl's, would end the host for want of a
 * symbol that is not weak. */
extern const char *gnu_get_libc_version(void) __attribute__((weak));
extern int on_exit(void (*function)(int code, void *data), void *data) __attribute__((weak));

static struct hk_hookset hookset;

static bool switched_off(char *const *environment)
{
	const char *disable = hk_identity_variable(environment, "HOOK_DISABLE");
	return (disable && disable[0] && disable[0] != '0') || getauxval(AT_SECURE);
}

/* Where LD_PRELOAD was lost, NCCL still opens the agent as its plugin, in a program that runs
 * already. Such a program was left alone. */
static bool is_plugin_alone(char *const *environment)
{
	return hk_exec_names_agent(environment, "NCCL_PROFILER_PLUGIN") &&
	       !hk_exec_names_agent(environment, "LD_PRELOAD");
}

/* Writes REASON to stderr if HOOK_LOG is set. */
static void say(char *const *environment, const char *reason)
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

static void set_up(int argc, char **argv, char **environment)
{
	char reason[256] = "", changed[256];
	uint64_t began_ns = cpu_ns();
	hk_process.began_ns = hk_clock_monotonic_ns();
	hk_hookset_load(environment, &hookset);
	hk_change_start(&hookset, changed, sizeof(changed));
	hk_process_add_note(hookset.problem);
	hk_process_add_note(changed);
	say(environment, hookset.problem);
	say(environment, changed);
	int status =
	    hk_process_start(argc, argv, environment, hookset.text, hookset.default_level, reason);
	if (status < 0) {
		say(environment, reason);
		return;
	}
	hk_clock_by_call = !hk_process.tsc;
	hk_state_setup();
	hk_answer_start();
	on_exit(at_exit, NULL);
	hk_thread_setup();
	hk_compat_start(&hookset.compat);
	hk_annotate_names_start(hookset.default_level);
	hk_sites_start(&hookset);
	hk_nvtx_start(environment);
	hk_nccl_profiler_start(environment, hookset.text);
	hk_dl_start();
	if (hk_device_start(environment, hk_annotate_work)) {
		hk_tracing_start();
	}
	hk_exec_start(environment);
	hk_entry_start(hk_pointer_of_entry);
	hk_mpi_setup();
	hk_device_setup();
	hk_nccl_setup();
	hk_kernels_setup();
	hk_interpreter_setup();
	hk_patch_start(&hookset, forget);
	uint64_t setup_ns = cpu_ns() - began_ns;
	hk_process.writer.header->setup_ns =
	    setup_ns < UINT32_MAX ? (uint32_t)setup_ns : UINT32_MAX;
}

static bool is_agent(const struct dl_phdr_info *info)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		uintptr_t inside = (uintptr_t)&is_agent - info->dlpi_addr - part->p_vaddr;
		if (part->p_type == PT_LOAD && inside < part->p_memsz) {
			return true;
		}
	}
	return false;
}

static int find_agent_or_libc(struct dl_phdr_info *info, size_t size, void *preloaded)
{
	(void)size;
	*(bool *)preloaded = is_agent(info);
	return *(bool *)preloaded || strstr(info->dlpi_name, "/libc.so.6") != NULL;
}

/* Whether the loader has loaded the agent before the libraries of the program, and not NVTX in a
 * process whose LD_PRELOAD was lost: then other threads may run, and no slot may be patched. */
static bool was_preloaded(void)
{
	bool preloaded = true;
	dl_iterate_phdr(find_agent_or_libc, &preloaded);
	return preloaded;
}

__attribute__((constructor)) static void start(int argc, char **argv, char **environment)
{
	/* Checked before the arguments are read: musl passes none. */
	if (!gnu_get_libc_version || !on_exit || switched_off(environment) ||
	    is_plugin_alone(environment)) {
		return;
	}
	if (!was_preloaded()) {
		say(environment, "not preloaded: LD_PRELOAD was lost");
		return;
	}
	/* A program starts with errno 0 and may print it before it is set. */
	int first_errno = errno;
	hk_in_agent = 1;
	if (hk_sandbox_permits()) {
		set_up(argc, argv, environment);
	} else {
		say(environment, "a sandbox may kill for what tracing asks of the kernel");
	}
	hk_in_agent = 0;
	errno = first_errno;
}

/* Version of a loaded agent, for `hookcli doctor` and debuggers. */
__attribute__((visibility("default"))) const char hk_agent_version[] = HK_VERSION;
