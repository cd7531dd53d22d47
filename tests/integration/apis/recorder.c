/* A simulated agent: it counts what hooktrace's Python extension asks of an agent, and whether
 * calls of a thread end in the reverse order of their beginnings. */
#define HOOKTRACE_AGENT
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "hooktrace.h"

#define SITES 8192
#define DEPTH 4096
#define EXPORT __attribute__((visibility("default")))

static struct {
	char function[128], library[128], domain[16];
	atomic_uint_fast64_t entered, left, failed;
} sites[SITES];
static atomic_uint count;
static atomic_uint_fast64_t wrong;
static __thread struct hk_open *open_calls[DEPTH];
static __thread unsigned int depth;

static void copy(char *to, const char *from, size_t bytes)
{
	size_t length = strnlen(from, bytes - 1);

	memcpy(to, from, length);
	to[length] = '\0';
}

/* under the GIL: one at a time */
EXPORT uint32_t hk_site_define(const struct hk_site_text *text)
{
	uint32_t site = 0;

	while (site < count && strcmp(sites[site].function, text->function) != 0) {
		site++;
	}
	if (site == SITES) {
		return HK_NO_SITE;
	}
	if (site == count) {
		copy(sites[site].function, text->function, sizeof(sites[site].function));
		copy(sites[site].library, text->library, sizeof(sites[site].library));
		copy(sites[site].domain, text->domain, sizeof(sites[site].domain));
		count++;
	}
	return site;
}

EXPORT void hk_enter(struct hk_open *open, uint32_t site)
{
	sites[site].entered++;
	open->state[0] = site;
	if (depth < DEPTH) {
		open_calls[depth] = open;
	}
	depth++;
}

EXPORT void hk_leave(struct hk_open *open, int failed)
{
	depth--;
	wrong += depth < DEPTH && open_calls[depth] != open;
	sites[open->state[0]].left++;
	sites[open->state[0]].failed += failed != 0;
}

EXPORT uint64_t recorder_wrong(void)
{
	return wrong;
}

EXPORT void recorder_clear(void)
{
	for (unsigned int i = 0; i < count; i++) {
		sites[i].entered = sites[i].left = sites[i].failed = 0;
	}
}

/* Calls of the site with number SITE: the texts and counts, or 0 if there is no such site. */
EXPORT int recorder_site(uint32_t site, const char *texts[3], uint64_t numbers[3])
{
	if (site >= count) {
		return 0;
	}
	texts[0] = sites[site].function;
	texts[1] = sites[site].library;
	texts[2] = sites[site].domain;
	numbers[0] = sites[site].entered;
	numbers[1] = sites[site].left;
	numbers[2] = sites[site].failed;
	return 1;
}
