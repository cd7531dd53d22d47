/* Opens the simulated NCCL, uses it and closes it again, several times, each time at another
 * address. Prints how often. */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "simcuda.h"

#define TIMES 3
#define RANKS 5
#define PAGE 4096

static void *need(void *address)
{
	if (!address) {
		fprintf(stderr, "nccl_reload: %s\n", dlerror());
		exit(1);
	}
	return address;
}

/* What lies here is gone; nothing else is to come here. */
static void occupy(void *address)
{
	void *page = (void *)((uintptr_t)address / PAGE * PAGE);

	if (mmap(page, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) !=
	    page) {
		fprintf(stderr, "nccl_reload: the library did not go\n");
		exit(1);
	}
}

static void use(void)
{
	void *library = need(dlopen("libnccl.so.2", RTLD_NOW));
	__typeof__(&ncclGetUniqueId) get_id = need(dlsym(library, "ncclGetUniqueId"));
	__typeof__(&ncclCommInitRank) init = need(dlsym(library, "ncclCommInitRank"));
	__typeof__(&ncclReduceScatter) scatter = need(dlsym(library, "ncclReduceScatter"));
	__typeof__(&ncclCommDestroy) destroy = need(dlsym(library, "ncclCommDestroy"));
	struct link_map *map = NULL;
	double number = 0;
	ncclUniqueId id;
	ncclComm_t comm;

	if (get_id(&id) || init(&comm, RANKS, id, 1) ||
	    scatter(&number, &number, 1, ncclDouble, 0, comm, NULL) || destroy(comm)) {
		fprintf(stderr, "nccl_reload: a call failed\n");
		exit(1);
	}
	need(dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 ? map : NULL);
	void *inside = map->l_ld;
	dlclose(library);
	occupy(inside);
}

int main(void)
{
	for (int i = 0; i < TIMES; i++) {
		use();
	}
	printf("%d\n", TIMES);
	return 0;
}
