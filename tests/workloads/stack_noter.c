/* Preloaded behind the agent: notes the stack of each call of malloc, calloc, posix_memalign and
 * read that comes through the agent, as glibc's unwinder sees it. At the end the file
 * $STACK_NOTES.PID gets a line for each stack: the number of calls, the function, and
 * "OBJECT+ADDRESS" for each frame, innermost first, in the addresses of the object's file. Frames
 * of the agent are left out, and "?" stands for an address in no object. */
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FRAMES 512u /* more than the agent takes */
#define STACKS (1u << 17)
#define ARENA_BYTES ((size_t)2 << 30)

enum function {
	MALLOC,
	CALLOC,
	MEMALIGN,
	READ,
};

static const char *const names[] = {"malloc", "calloc", "posix_memalign", "read"};

struct stack {
	uint64_t calls;
	enum function function;
	uint32_t count;
	void *frames[];
};

struct object {
	uintptr_t start, end, base;
	char name[64];
};

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct stack *table[STACKS];
static char *arena;
static size_t arena_used;
static uintptr_t agent_start, agent_end;
static bool ready;
static __thread bool noting __attribute__((tls_model("initial-exec")));

static int find_agent(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)size;
	(void)data;
	if (!strstr(info->dlpi_name, "libhookagent.so")) {
		return 0;
	}
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		if (header->p_type == PT_LOAD && header->p_flags & PF_X) {
			agent_start = info->dlpi_addr + header->p_vaddr;
			agent_end = agent_start + header->p_memsz;
		}
	}
	return 1;
}

static struct stack **place_of(enum function function, void **frames, uint32_t count)
{
	uint64_t hash = function;
	for (uint32_t i = 0; i < count; i++) {
		hash = (hash ^ (uintptr_t)frames[i]) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 29;
	}
	for (uint32_t at = (uint32_t)(hash >> 32) % STACKS;; at = (at + 1) % STACKS) {
		struct stack *stack = table[at];
		if (!stack || (stack->function == function && stack->count == count &&
			       memcmp(stack->frames, frames, count * sizeof(void *)) == 0)) {
			return &table[at];
		}
	}
}

/* Notes the stack of the caller's caller. RETURN_ADDRESS is where the caller returns to. */
static __attribute__((noinline)) void note(enum function function, void *return_address)
{
	void *frames[FRAMES];
	uintptr_t behind = (uintptr_t)return_address;
	if (!ready || noting || behind < agent_start || behind >= agent_end) {
		return;
	}
	noting = true;
	int found = backtrace(frames, FRAMES);
	/* The first two frames are this one and the function's. */
	uint32_t count = found > 2 ? (uint32_t)found - 2 : 0;
	pthread_mutex_lock(&lock);
	struct stack **place = place_of(function, frames + 2, count);
	if (!*place) {
		size_t bytes = sizeof(**place) + count * sizeof(void *);
		*place = (struct stack *)(arena + arena_used);
		arena_used += bytes;
		**place = (struct stack){.function = function, .count = count};
		memcpy((*place)->frames, frames + 2, count * sizeof(void *));
	}
	(*place)->calls++;
	pthread_mutex_unlock(&lock);
	noting = false;
}

__attribute__((visibility("default"))) void *malloc(size_t size)
{
	note(MALLOC, __builtin_return_address(0));
	return __libc_malloc(size);
}

__attribute__((visibility("default"))) void *calloc(size_t count, size_t size)
{
	note(CALLOC, __builtin_return_address(0));
	return __libc_calloc(count, size);
}

__attribute__((visibility("default"))) int posix_memalign(void **memory, size_t alignment,
							  size_t size)
{
	note(MEMALIGN, __builtin_return_address(0));
	*memory = __libc_memalign(alignment, size);
	return *memory ? 0 : ENOMEM;
}

__attribute__((visibility("default"))) ssize_t read(int fd, void *buffer, size_t size)
{
	note(READ, __builtin_return_address(0));
	return syscall(SYS_read, fd, buffer, size);
}

static __attribute__((constructor)) void begin(void)
{
	void *frames[2];
	backtrace(frames, 2); /* loads the unwinder */
	dl_iterate_phdr(find_agent, NULL);
	arena = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	ready = arena != MAP_FAILED && getenv("STACK_NOTES");
}

/* ---- at the end ---- */

struct search {
	uintptr_t address;
	struct object object;
};

static int find_object(struct dl_phdr_info *info, size_t size, void *data)
{
	struct search *search = data;
	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
		uintptr_t end = start + info->dlpi_phdr[i].p_memsz;
		if (info->dlpi_phdr[i].p_type == PT_LOAD && search->address >= start &&
		    search->address < end) {
			const char *base = strrchr(info->dlpi_name, '/');
			search->object =
			    (struct object){.start = start, .end = end, .base = info->dlpi_addr};
			snprintf(search->object.name, sizeof(search->object.name), "%s",
				 base		    ? base + 1
				 : *info->dlpi_name ? info->dlpi_name
						    : "program");
			return 1;
		}
	}
	return 0;
}

static void write_frame(FILE *output, uintptr_t address)
{
	static struct search search;
	if (address < search.object.start || address >= search.object.end) {
		search = (struct search){.address = address};
		dl_iterate_phdr(find_object, &search);
	}
	if (!*search.object.name) {
		fputs(" ?", output);
	} else if (strcmp(search.object.name, "libhookagent.so") != 0) {
		fprintf(output, " %s+%lx", search.object.name,
			(unsigned long)(address - search.object.base));
	}
}

static __attribute__((destructor)) void end(void)
{
	char path[4096];
	if (!ready) {
		return;
	}
	ready = false;
	snprintf(path, sizeof(path), "%s.%d", getenv("STACK_NOTES"), (int)getpid());
	FILE *output = fopen(path, "we");
	for (uint32_t at = 0; output && at < STACKS; at++) {
		const struct stack *stack = table[at];
		if (!stack) {
			continue;
		}
		fprintf(output, "%lu %s", (unsigned long)stack->calls, names[stack->function]);
		for (uint32_t i = 0; i < stack->count; i++) {
			write_frame(output, (uintptr_t)stack->frames[i]);
		}
		fputc('\n', output);
	}
	if (output) {
		fclose(output);
	}
}
