#include "agent/patch/wrapped.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

void *_Atomic hk_dl_originals[HK_DL_COUNT];
void *hk_dl_wrappers[HK_DL_COUNT];

static const char names[HK_DL_COUNT][12] = {
    [HK_DL_OPEN] = "dlopen",	   [HK_DL_MOPEN] = "dlmopen",	  [HK_DL_CLOSE] = "dlclose",
    [HK_DL_SYM] = "dlsym",	   [HK_DL_VSYM] = "dlvsym",	  [HK_DL_ADDR] = "dladdr",
    [HK_DL_ADDR1] = "dladdr1",	   [HK_DL_EXIT] = "_exit",	  [HK_DL_EXIT_C99] = "_Exit",
    [HK_DL_PRCTL] = "prctl",	   [HK_DL_SYSCALL] = "syscall",	  [HK_DL_SETUID] = "setuid",
    [HK_DL_SETEUID] = "seteuid",   [HK_DL_SETREUID] = "setreuid", [HK_DL_SETRESUID] = "setresuid",
    [HK_DL_SETFSUID] = "setfsuid", [HK_DL_CHROOT] = "chroot",	  [HK_DL_PIVOT_ROOT] = "pivot_root",
    [HK_DL_UNSHARE] = "unshare",   [HK_DL_SETNS] = "setns",	  [HK_DL_MLOCKALL] = "mlockall",
};

int hk_dl_index(const char *function)
{
	for (int i = 0; i < HK_DL_COUNT; i++) {
		/* Most of many thousand names are told apart by two letters. */
		if (function[0] == names[i][0] && function[1] == names[i][1] &&
		    strcmp(function, names[i]) == 0) {
			return i;
		}
	}
	return -1;
}

bool hk_dl_yields(int index)
{
	return index >= HK_DL_PRCTL;
}

bool hk_dl_is_wrapper(const void *address)
{
	for (int i = 0; i < HK_DL_COUNT; i++) {
		if (address == hk_dl_wrappers[i]) {
			return true;
		}
	}
	return false;
}

int hk_dl_adopt(int index, void *original)
{
	void *none = NULL;
	if (atomic_compare_exchange_strong(&hk_dl_originals[index], &none, original) ||
	    none == original) {
		return 0;
	}
	return -EEXIST;
}

void *hk_dl_around(const char *function, void *original)
{
	int index = hk_dl_index(function);
	bool adopted = index >= 0 && hk_dl_adopt(index, original) == 0;
	return adopted ? hk_dl_wrappers[index] : original;
}
