/* A simulated agent for the tracer of Python functions: it counts calls exactly, and checks that
 * they nest. It has the functions that the tracer asks of an agent, recorder_dump() and
 * recorder_reset(). The tracer calls it with the GIL, so nothing here is locked. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HOOKTRACE_AGENT
#include "hooktrace.h"

#define EXPORTED __attribute__((visibility("default")))
#define SITES_MAX 8192
#define THREADS_MAX 4096

struct site {
	char *function, *library, *domain;
};

struct thread {
	long tid;
	unsigned calls[SITES_MAX], ends[SITES_MAX], failures[SITES_MAX];
	uint64_t *open; /* identities of open calls, outermost first */
	size_t depth, room;
};

static struct site sites[SITES_MAX];
static uint32_t site_count;
static struct thread *threads[THREADS_MAX];
static size_t thread_count;
static uint64_t identities;
static unsigned implicit, unknown;
static __thread struct thread *current;

EXPORTED uint32_t hk_site_define(const struct hk_site_text *text)
{
	for (uint32_t i = 0; i < site_count; i++) {
		if (strcmp(sites[i].function, text->function) == 0 &&
		    strcmp(sites[i].library, text->library) == 0) {
			return i;
		}
	}
	if (site_count == SITES_MAX) {
		return HK_NO_SITE;
	}
	sites[site_count] =
	    (struct site){strdup(text->function), strdup(text->library), strdup(text->domain)};
	return site_count++;
}

EXPORTED int hk_is_on(uint32_t site)
{
	return site < site_count;
}

static struct thread *this_thread(void)
{
	if (!current && thread_count < THREADS_MAX) {
		current = calloc(1, sizeof(*current));
		current->tid = syscall(SYS_gettid);
		threads[thread_count++] = current;
	}
	return current;
}

EXPORTED void hk_enter(struct hk_open *open, uint32_t site)
{
	struct thread *thread = this_thread();

	*open = (struct hk_open){.state = {++identities, site, (uintptr_t)thread}};
	if (thread->depth == thread->room) {
		thread->room = thread->room * 2 + 64;
		thread->open = realloc(thread->open, thread->room * sizeof(*thread->open));
	}
	thread->open[thread->depth++] = open->state[0];
	thread->calls[site]++;
}

EXPORTED void hk_leave(struct hk_open *open, int failed)
{
	struct thread *thread = this_thread();
	size_t at = thread->depth;

	while (at > 0 && thread->open[at - 1] != open->state[0]) {
		at--;
	}
	if (at == 0 || open->state[2] != (uintptr_t)thread) {
		unknown++;
		return;
	}
	implicit += (unsigned)(thread->depth - at);
	thread->depth = at - 1;
	thread->ends[open->state[1]]++;
	thread->failures[open->state[1]] += failed != 0;
}

/* Forgets all counts. Calls that are open stay so. */
EXPORTED void recorder_reset(void)
{
	for (size_t i = 0; i < thread_count; i++) {
		memset(threads[i]->calls, 0, site_count * sizeof(*threads[i]->calls));
		memset(threads[i]->ends, 0, site_count * sizeof(*threads[i]->ends));
		memset(threads[i]->failures, 0, site_count * sizeof(*threads[i]->failures));
	}
	implicit = unknown = 0;
}

static void write_text(FILE *file, const char *text)
{
	fputc('"', file);
	for (; *text; text++) {
		fprintf(file,
			(unsigned char)*text < ' ' || *text == '"' || *text == '\\' ? "\\u%04x"
										    : "%c",
			(unsigned char)*text);
	}
	fputc('"', file);
}

/* Writes JSON to PATH: {"implicit": calls ended by the end of an outer one, "unknown": ends of
 * calls that were not open, "threads": {tid: {"open": calls, "rows": [[function, library, domain,
 * calls, ends, failures], ...]}}}. */
EXPORTED int recorder_dump(const char *path)
{
	FILE *file = fopen(path, "w");

	if (!file) {
		return -1;
	}
	fprintf(file, "{\"implicit\": %u, \"unknown\": %u, \"threads\": {", implicit, unknown);
	for (size_t i = 0; i < thread_count; i++) {
		const char *separator = "";
		fprintf(file, "%s\"%ld\": {\"open\": %zu, \"rows\": [", i ? ", " : "",
			threads[i]->tid, threads[i]->depth);
		for (uint32_t site = 0; site < site_count; site++) {
			if (threads[i]->calls[site]) {
				fprintf(file, "%s[", separator);
				write_text(file, sites[site].function);
				fputs(", ", file);
				write_text(file, sites[site].library);
				fputs(", ", file);
				write_text(file, sites[site].domain);
				fprintf(file, ", %u, %u, %u]", threads[i]->calls[site],
					threads[i]->ends[site], threads[i]->failures[site]);
				separator = ", ";
			}
		}
		fputs("]}", file);
	}
	fputs("}}\n", file);
	return fclose(file);
}
