/* Calls a function from code that it generates, and names that code in /tmp/perf-PID.map: at once,
 * late (behind the calls), in an old file, or in a file behind a link. Prints its pid. */
#include "symbols.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__x86_64__)
/* A frame pointer, a call of the function in rdi, nothing else. */
static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
#elif defined(__aarch64__)
/* stp x29, x30, [sp, #-16]!; mov x29, sp; blr x0; ldp x29, x30, [sp], #16; ret */
static const uint32_t code[] = {0xa9bf7bfd, 0x910003fd, 0xd63f0000, 0xa8c17bfd, 0xd65f03c0};
#endif

static int call_back(void)
{
	return symbols_called(1) + 1;
}

static void *generate(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED) {
		abort();
	}
	memcpy(page, code, sizeof(code));
	mprotect(page, 4096, PROT_READ | PROT_EXEC);
	__builtin___clear_cache((char *)page, (char *)page + sizeof(code));
	return page;
}

/* Lines that are no names come first, and an earlier name of the same code. */
static void write_map(const char *how, const void *page)
{
	static const struct timespec old[2] = {{1, 0}, {1, 0}};
	char path[64], other[80];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	snprintf(other, sizeof(other), "%s.other", path);
	int link = strcmp(how, "link") == 0;
	FILE *map = fopen(link ? other : path, "w");
	if (!map || (link && symlink(other, path) < 0)) {
		abort();
	}
	fprintf(map, "\nnonsense\n%lx\nzz 10 no_number\n%lx %zx before\n", (unsigned long)page,
		(unsigned long)page, sizeof(code));
	fprintf(map, "%lx %zx JIT:a function;in generated code\n%lx 10", (unsigned long)page,
		sizeof(code), (unsigned long)page + 4096);
	fclose(map);
	if (strcmp(how, "old") == 0) {
		utimensat(AT_FDCWD, path, old, 0);
	}
}

int main(int argc, char **argv)
{
	int (*function)(int (*)(void));
	const char *how = argc > 1 ? argv[1] : "";
	char end;

	void *page = generate();
	if (strcmp(how, "late") != 0) {
		write_map(how, page);
	}
	memcpy(&function, &page, sizeof(function));
	int sum = function(call_back);
	printf("%d\n", (int)getpid());
	fflush(stdout);
	/* Until the end of the input there is no name of late code. */
	if (strcmp(how, "late") == 0) {
		while (read(STDIN_FILENO, &end, 1) > 0) {
		}
		write_map(how, page);
	}
	return sum == 0;
}
