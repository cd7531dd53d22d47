/* held OFFSET STOP: takes the agent's lock by the function at OFFSET of its library, as a thread
 * that died with it would have, and calls getppid until the file STOP is there. Prints
 * how many calls it made, and how often it slept. */
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define BEFORE 100u

static int find_agent(struct dl_phdr_info *info, size_t size, void *base)
{
	(void)size;
	if (!strstr(info->dlpi_name, "libhookagent")) {
		return 0;
	}
	*(uintptr_t *)base = info->dlpi_addr;
	return 1;
}

int main(int argc, char **argv)
{
	uintptr_t base = 0;
	unsigned long calls = 0;
	if (argc != 3 || !dl_iterate_phdr(find_agent, &base)) {
		return 2;
	}
	for (; calls < BEFORE; calls++) {
		getppid();
	}
	bool (*lock)(void) = (bool (*)(void))(base + strtoull(argv[1], NULL, 16));
	if (!lock()) {
		return 3;
	}
	for (; access(argv[2], F_OK) < 0; calls++) {
		getppid();
	}
	struct rusage used;
	getrusage(RUSAGE_SELF, &used);
	printf("%lu %ld\n", calls, used.ru_nvcsw);
	return 0;
}
