/* sigstack BYTES WHEN: a signal handler on an alternate stack of so many bytes above a guard page
 * makes a hooked call: the first one of the process, of a forked child, or of another function than
 * the main program called; or many calls of one that it called, whose records fill several pages;
 * or one of a function that was switched off, after its level may have changed again. Exits with 7
 * behind it and prints how much of the stack was used. */
#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/rundir.h"
#include "hooks/hook.h"
#include "life.h"
#include "ring/reader.h"

#define GUARD_BYTES 65536
#define WELL 7
#define PAINT 0x5a
#define MANY 20000

static unsigned char *bottom;
static size_t used, bytes, calls = 1;

static int no_operation(void *unused)
{
	(void)unused;
	return 0;
}

static void handle(int number)
{
	(void)number;
	for (size_t i = 0; i < calls; i++) {
		life_call(no_operation, NULL);
	}
	size_t clean = 0;
	while (clean < bytes && bottom[clean] == PAINT) {
		clean++;
	}
	used = bytes - clean;
}

static void make_stack(void)
{
	char *memory = mmap(NULL, GUARD_BYTES + bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED || mprotect(memory, GUARD_BYTES, PROT_NONE)) {
		exit(2);
	}
	bottom = (unsigned char *)memory + GUARD_BYTES;
	memset(bottom, PAINT, bytes);
}

static int run(void)
{
	const stack_t stack = {.ss_sp = bottom, .ss_size = bytes};
	struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
	if (sigaltstack(&stack, NULL)) {
		return 2;
	}
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	printf("%zu\n", used);
	return WELL;
}

static int is_segment(const struct dirent *entry)
{
	return strstr(entry->d_name, HK_SEGMENT_SUFFIX) != NULL;
}

/* What a collector does for a level that the user gives. */
static void switch_off(struct hk_reader *reader)
{
	const struct hk_rule rule = {.pattern = "life_*", .level = HK_LEVEL_OFF};
	hk_reader_publish(reader, &rule, 1, 0);
}

/* The call behind the first one finds the level; what comes after the second one is for the
 * handler's call to find. Without an agent there is no segment. */
static int run_off(void)
{
	char path[PATH_MAX];
	struct dirent **names;
	struct hk_reader *reader;
	life_call(no_operation, NULL);
	int directory = hk_rundir_open_default(0, path);
	if (directory < 0 || scandirat(directory, ".", &names, is_segment, NULL) != 1) {
		return run();
	}
	if (hk_reader_open(directory, names[0]->d_name, &reader) < 0) {
		return 2;
	}
	switch_off(reader);
	life_call(no_operation, NULL);
	switch_off(reader);
	return run();
}

int main(int argc, char **argv)
{
	bytes = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
	if (!bytes) {
		return 2;
	}
	make_stack();
	if (strcmp(argv[2], "later") == 0) {
		life_touch(1);
	}
	if (strcmp(argv[2], "many") == 0) {
		life_call(no_operation, NULL);
		calls = MANY;
	}
	if (strcmp(argv[2], "off") == 0) {
		return run_off();
	}
	if (strcmp(argv[2], "forked") == 0) {
		life_touch(1);
		if (fork() == 0) {
			exit(run());
		}
		int status = 0;
		wait(&status);
		return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
	}
	return run();
}
