/* agent.c: the agent's constructor. It must not break the host. */
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#include "agent/late.h"
#include "agent/record/process.h"
#include "agent/start.h"
#include "agent/wrap/exec.h"
#include "agent/wrap/sandbox.h"
#include "base/identity.h"

/* Only glibc has these. Another libc's loader, such as musl's, would end the host for want of a
 * symbol that is not weak. */
extern const char *gnu_get_libc_version(void) __attribute__((weak));
extern int on_exit(void (*function)(int code, void *data), void *data) __attribute__((weak));

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
	if (gnu_get_libc_version && on_exit) {
		hk_late_prepare(argc, argv);
	}
	if (!gnu_get_libc_version || !on_exit || switched_off(environment) ||
	    is_plugin_alone(environment)) {
		return;
	}
	if (!was_preloaded()) {
		hk_start_say(environment,
			     "not preloaded: LD_PRELOAD was lost, or it is started later");
		return;
	}
	/* A program starts with errno 0 and may print it before it is set. */
	int first_errno = errno;
	hk_in_agent = 1;
	if (hk_sandbox_permits()) {
		char reason[HK_REASON_BYTES] = "";
		if (hk_start(argc, argv, environment, false, reason) < 0) {
			hk_start_say(environment, reason);
		}
		hk_agent_on = hk_process.on;
	} else {
		hk_start_say(environment, "a sandbox may kill for what tracing asks of the kernel");
	}
	hk_in_agent = 0;
	errno = first_errno;
}

/* Version of a loaded agent, for `hookcli doctor` and debuggers. */
__attribute__((visibility("default"))) const char hk_agent_version[] = HK_VERSION;
