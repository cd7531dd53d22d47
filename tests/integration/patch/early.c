#include <dlfcn.h>
#include <stddef.h>

#include "lookup.h"

static target_function early_add;

__attribute__((constructor)) static void start(void)
{
	early_add = (target_function)dlsym(RTLD_DEFAULT, "target_add");
}

long early_run(long count)
{
	long sum = 0;
	for (long i = 0; early_add && i < count; i++) {
		sum = early_add(sum, i);
	}
	return sum;
}
