#include "agent/wrap/sandbox.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "agent/frame/site_table.h"
#include "agent/record/process.h"
#include "agent/record/self.h"
#include "agent/stack/answer.h"
#include "agent/wrap/departure.h"
#include "ring/kernel.h"

#define INVALID (-1L) /* invalid descriptor, address, process or clock */

/* System calls of the agent that the loader has not made before. */
static const short asked[] = {
    SYS_write,	       SYS_fstat,	  SYS_fstatfs,	 SYS_readlinkat,       SYS_getdents64,
    SYS_mkdirat,       SYS_unlinkat,	  SYS_fallocate, SYS_madvise,	       SYS_futex,
    SYS_nanosleep,     SYS_clock_gettime, SYS_getpid,	 SYS_getppid,	       SYS_gettid,
    SYS_geteuid,       SYS_getrandom,	  SYS_getrusage, SYS_prlimit64,	       SYS_rt_sigprocmask,
    SYS_rt_sigpending, SYS_sigaltstack,	  SYS_uname,	 SYS_process_vm_readv, SYS_rt_sigtimedwait,
    SYS_newfstatat,    SYS_faccessat,	  SYS_pread64,	 SYS_getuid,	       SYS_getgid,
    SYS_getxattr,      SYS_rt_sigaction,
};

/* Makes all these calls, without effect. Runs in a child, which is killed if one of them is
 * forbidden. */
static void ask_everything(void)
{
	const struct rlimit none = {0, 0};
	hk_kernel(SYS_prlimit64, 0, RLIMIT_CORE, &none, 0, 0, 0); /* no core file */
	for (unsigned i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		hk_kernel(asked[i], INVALID, 0, 0, 0, 0, 0);
	}
	hk_kernel(SYS_exit_group, 0, 0, 0, 0, 0, 0);
}

static bool ends_well(long child)
{
	int status = -1;
	long waited;
	do {
		waited = hk_kernel(SYS_wait4, child, &status, __WALL, 0, 0, 0);
	} while (waited == -EINTR);
	return waited == child && status == 0;
}

bool hk_sandbox_permits(void)
{
	if (hk_self_status("Seccomp:") != SECCOMP_MODE_FILTER) {
		return true;
	}
	/* The child sends no signal at its end, because the host might take it for one of its own
	 * children. */
	long child = hk_kernel(SYS_clone, 0, 0, 0, 0, 0, 0);
	if (child == 0) {
		ask_everything();
	}
	return child > 0 && ends_well(child);
}

/* Takes the memory that this thread and its calls will need, and seals the process. */
static void seal(void)
{
	if (!hk_process.sealed) {
		hk_departure_provide(true);
		hk_answer_seal();
		hk_process_seal();
	}
}

void hk_sandbox_prctl(int option, unsigned long argument)
{
	bool strict = option == PR_SET_SECCOMP && argument == SECCOMP_MODE_STRICT;
	if (option == PR_SET_SECCOMP) {
		seal();
	}
	/* Strict mode forbids the time stamp counter too. */
	if (strict || (option == PR_SET_TSC && argument == PR_TSC_SIGSEGV)) {
		hk_process.timeless = true;
		hk_site_table_stop_clocks();
	}
}

void hk_sandbox_syscall(long number, unsigned long a, unsigned long b)
{
	if (number == SYS_prctl) {
		hk_sandbox_prctl((int)a, b);
	} else if (number == SYS_seccomp && a == SECCOMP_SET_MODE_STRICT) {
		hk_sandbox_prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	} else if (number == SYS_seccomp && a == SECCOMP_SET_MODE_FILTER) {
		hk_sandbox_prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER);
	}
}
