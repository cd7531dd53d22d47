#include "record/sandbox.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "frame/site.h"
#include "record/process.h"
#include "record/thread.h"

/* Cells and octaves of many sites, and pages enough while a collector drains them. */
#define ROOM_BYTES (4u << 20)

/* Makes what this thread and its calls will need, as far as there is room, and seals the process.
 */
static void seal(void)
{
	if (hk_process.sealed) {
		return;
	}
	if (!hk_inside) {
		uint64_t signals = hk_process_block_signals();
		int saved_errno = errno;
		hk_inside = 1;
		if (!hk_thread_current->ready) {
			hk_thread_enter();
		}
		if (hk_process.on && hk_process_lock()) {
			hk_writer_reserve(&hk_process.writer, ROOM_BYTES);
			hk_process_unlock();
		}
		hk_inside = 0;
		errno = saved_errno;
		hk_process_restore_signals(signals);
	}
	hk_process.sealed = true;
}

void hk_sandbox_prctl(int option, unsigned long argument)
{
	bool strict = option == PR_SET_SECCOMP && argument == SECCOMP_MODE_STRICT;
	if (option == PR_SET_SECCOMP) {
		seal();
	}
	/* The strict mode takes the time stamp counter away as well. */
	if (strict || (option == PR_SET_TSC && argument == PR_TSC_SIGSEGV)) {
		hk_process.timeless = true;
		hk_site_stop_clocks();
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
