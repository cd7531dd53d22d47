/* Functions that note from where they are called, as glibc's unwinder sees it, and write at the end
 * how often each stack was seen: a line of the number and of "OBJECT+ADDRESS" for each frame,
 * innermost first, in the addresses of the object's file. Frames of hooktrace's agent are left out.
 */
#include "stacks_truth.h"

#include <errno.h>
#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES 256
#define STACKS 256

struct stack {
	void *frames[FRAMES];
	int count;
	unsigned long calls;
};

static struct stack stacks[STACKS];
static int stack_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static __attribute__((noinline)) int note(void)
{
	void *frames[FRAMES];
	int count = backtrace(frames, FRAMES), i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < stack_count; i++) {
		if (stacks[i].count == count &&
		    memcmp(stacks[i].frames, frames, (size_t)count * sizeof(void *)) == 0) {
			break;
		}
	}
	if (i == STACKS) {
		abort();
	}
	if (i == stack_count) {
		stack_count++;
		memcpy(stacks[i].frames, frames, sizeof(frames));
		stacks[i].count = count;
		stacks[i].calls = 0;
	}
	stacks[i].calls++;
	pthread_mutex_unlock(&lock);
	return i;
}

/* The object that holds an address. dladdr() is no help: under hooktrace it names the function that
 * an address of the agent stands for. */
struct holder {
	uintptr_t address, base;
	const char *name;
};

static int find_holder(struct dl_phdr_info *info, size_t size, void *data)
{
	struct holder *holder = data;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
		if (info->dlpi_phdr[i].p_type == PT_LOAD && holder->address >= start &&
		    holder->address - start < info->dlpi_phdr[i].p_memsz) {
			const char *base = strrchr(info->dlpi_name, '/');
			holder->base = info->dlpi_addr;
			holder->name = base ? base + 1 : *info->dlpi_name ? info->dlpi_name : NULL;
			holder->name = holder->name ? holder->name : program_invocation_short_name;
			return 1;
		}
	}
	return 0;
}

/* The first two frames are note() and the function that called it. */
static void write_stack(FILE *output, const struct stack *stack)
{
	fprintf(output, "%lu", stack->calls);
	for (int i = 2; i < stack->count; i++) {
		struct holder holder = {.address = (uintptr_t)stack->frames[i], .name = "?"};
		dl_iterate_phdr(find_holder, &holder);
		if (strcmp(holder.name, "libhookagent.so") != 0) {
			fprintf(output, " %s+%lx", holder.name,
				(unsigned long)(holder.address - holder.base));
		}
	}
	fputc('\n', output);
}

void stacks_write(const char *path)
{
	FILE *output = fopen(path, "a");

	if (!output) {
		abort();
	}
	for (int i = 0; i < stack_count; i++) {
		write_stack(output, &stacks[i]);
	}
	fclose(output);
	stack_count = 0;
}

int stacks_plain(int value)
{
	return note() + value;
}

int stacks_described(int value)
{
	return note() - value;
}

int stacks_failed(int value)
{
	return note() >= 0 ? -1 : value;
}
