#include "agent/patch/wrapped.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

void *_Atomic hk_wrapped_originals[HK_WRAPPED_COUNT];
void *hk_wrapped_addresses[HK_WRAPPED_COUNT];

static const char names[HK_WRAPPED_COUNT][40] = {
    [HK_WRAPPED_OPEN] = "dlopen",
    [HK_WRAPPED_MOPEN] = "dlmopen",
    [HK_WRAPPED_CLOSE] = "dlclose",
    [HK_WRAPPED_SYM] = "dlsym",
    [HK_WRAPPED_VSYM] = "dlvsym",
    [HK_WRAPPED_ADDR] = "dladdr",
    [HK_WRAPPED_ADDR1] = "dladdr1",
    [HK_WRAPPED_EXIT] = "_exit",
    [HK_WRAPPED_EXIT_C99] = "_Exit",
    [HK_WRAPPED_PRCTL] = "prctl",
    [HK_WRAPPED_SYSCALL] = "syscall",
    [HK_WRAPPED_SETUID] = "setuid",
    [HK_WRAPPED_SETEUID] = "seteuid",
    [HK_WRAPPED_SETREUID] = "setreuid",
    [HK_WRAPPED_SETRESUID] = "setresuid",
    [HK_WRAPPED_SETFSUID] = "setfsuid",
    [HK_WRAPPED_CHROOT] = "chroot",
    [HK_WRAPPED_PIVOT_ROOT] = "pivot_root",
    [HK_WRAPPED_UNSHARE] = "unshare",
    [HK_WRAPPED_SETNS] = "setns",
    [HK_WRAPPED_MLOCKALL] = "mlockall",
    [HK_WRAPPED_SIGACTION] = "sigaction",
    [HK_WRAPPED_SIGNAL] = "signal",
    [HK_WRAPPED_SIGALTSTACK] = "sigaltstack",
    [HK_WRAPPED_EXECVE] = "execve",
    [HK_WRAPPED_EXECV] = "execv",
    [HK_WRAPPED_EXECVP] = "execvp",
    [HK_WRAPPED_EXECVPE] = "execvpe",
    [HK_WRAPPED_FEXECVE] = "fexecve",
    [HK_WRAPPED_EXECL] = "execl",
    [HK_WRAPPED_EXECLP] = "execlp",
    [HK_WRAPPED_EXECLE] = "execle",
    [HK_WRAPPED_SPAWN] = "posix_spawn",
    [HK_WRAPPED_SPAWNP] = "posix_spawnp",
    [HK_WRAPPED_SYSTEM] = "system",
    [HK_WRAPPED_POPEN] = "popen",
    [HK_WRAPPED_CUPTI_REGISTER] = "cuptiActivityRegisterCallbacks",
    [HK_WRAPPED_CUPTI_REGISTER_V2] = "cuptiActivityRegisterCallbacks_v2",
    [HK_WRAPPED_CUPTI_STAMP] = "cuptiActivityRegisterTimestampCallback",
    [HK_WRAPPED_CUPTI_ENABLE] = "cuptiActivityEnable",
    [HK_WRAPPED_CUPTI_DISABLE] = "cuptiActivityDisable",
    [HK_WRAPPED_CUPTI_FLUSH] = "cuptiActivityFlushAll",
    [HK_WRAPPED_CUPTI_SUBSCRIBE] = "cuptiSubscribe",
    [HK_WRAPPED_CUPTI_SUBSCRIBE_V2] = "cuptiSubscribe_v2",
    [HK_WRAPPED_CUPTI_UNSUBSCRIBE] = "cuptiUnsubscribe",
    [HK_WRAPPED_CUPTI_FINALIZE] = "cuptiFinalize",
    [HK_WRAPPED_MSPTI_REGISTER] = "msptiActivityRegisterCallbacks",
    [HK_WRAPPED_MSPTI_ENABLE] = "msptiActivityEnable",
    [HK_WRAPPED_MSPTI_DISABLE] = "msptiActivityDisable",
    [HK_WRAPPED_MSPTI_FLUSH] = "msptiActivityFlushAll",
};

int hk_wrapped_index(const char *function)
{
	int count =
	    hk_wrapped_addresses[HK_WRAPPED_TRACING] ? HK_WRAPPED_COUNT : HK_WRAPPED_TRACING;
	for (int i = 0; i < count; i++) {
		/* Two letters distinguish most of many thousand names. */
		if (function[0] == names[i][0] && function[1] == names[i][1] &&
		    strcmp(function, names[i]) == 0 && hk_wrapped_addresses[i]) {
			return i;
		}
	}
	return -1;
}

bool hk_wrapped_yields(int index)
{
	return index >= HK_WRAPPED_PRCTL;
}

bool hk_wrapped_is_wrapper(const void *address)
{
	for (int i = 0; i < HK_WRAPPED_COUNT; i++) {
		if (address && address == hk_wrapped_addresses[i]) {
			return true;
		}
	}
	return false;
}

int hk_wrapped_adopt(int index, void *original)
{
	void *none = NULL;
	if (atomic_compare_exchange_strong(&hk_wrapped_originals[index], &none, original) ||
	    none == original) {
		return 0;
	}
	return -EEXIST;
}

void *hk_wrapped_around(const char *function, void *original)
{
	int index = hk_wrapped_index(function);
	bool adopted = index >= 0 && hk_wrapped_adopt(index, original) == 0;
	return adopted ? hk_wrapped_addresses[index] : original;
}
