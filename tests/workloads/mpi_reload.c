/* Opens each of the MPI libraries named (simulated) in turn, sends by it, copies a communicator and
 * closes it again, twice over and never twice at the same address. Prints how often it sent. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define TIMES 2
#define COUNT 3
#define PAGE 4096
#define INT_TYPE 0x4c000405
#define WORLD 0x44000000

typedef int send_function(const void *data, int count, int type, int to, int tag, int comm);
typedef int dup_function(int comm, int *newcomm);

static void *need(void *address)
{
	if (!address) {
		fprintf(stderr, "mpi_reload: %s\n", dlerror());
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
		fprintf(stderr, "mpi_reload: the library did not go\n");
		exit(1);
	}
}

static void use(const char *path)
{
	void *library = need(dlopen(path, RTLD_NOW));
	send_function *send = (send_function *)need(dlsym(library, "MPI_Send"));
	dup_function *dup = (dup_function *)need(dlsym(library, "MPI_Comm_dup"));
	/* Not hooked, so this is where the library is. */
	void *inside = need(dlsym(library, "PMPI_Comm_size"));
	char data[1] = {0};
	int handles[2] = {0, 0x55555555}; /* what lies behind one is not of it */

	if (send(data, COUNT, INT_TYPE, 0, 0, WORLD) || dup(WORLD, handles)) {
		fprintf(stderr, "mpi_reload: a call failed\n");
		exit(1);
	}
	dlclose(library);
	occupy(inside);
}

int main(int argc, char **argv)
{
	int sent = 0;

	for (int i = 0; i < TIMES; i++) {
		for (int path = 1; path < argc; path++) {
			use(argv[path]);
			sent++;
		}
	}
	printf("%d\n", sent);
	return 0;
}
