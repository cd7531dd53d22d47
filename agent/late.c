#define HOOKTRACE_AGENT
#include "agent/late.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "agent/hooktrace.h"
#include "agent/memory/arena.h"
#include "agent/object/object.h"
#include "agent/record/process.h"
#include "agent/start.h"
#include "agent/wrap/sandbox.h"
#include "base/identity.h"

#define EXPORTED __attribute__((visibility("default")))

int hk_agent_on;

static struct {
	int argc;
	char **argv; /* NULL: the process cannot be traced */
} program;
static atomic_flag busy = ATOMIC_FLAG_INIT; /* a thread starts or stops the agent */

void hk_late_prepare(int argc, char **argv)
{
	program.argc = argc;
	program.argv = argv;
}

/* ---- settings ---- */

static size_t count_texts(const char *const *texts)
{
	size_t count = 0;
	while (texts && texts[count]) {
		count++;
	}
	return count;
}

/* Copies TEXTS to TO. Returns false without memory. */
static bool copy_texts(const char **to, const char *const *texts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		to[i] = hk_arena_text(texts[i]);
		if (!to[i]) {
			return false;
		}
	}
	return true;
}

/* Returns SETTINGS and, after them, the variables of the process, in memory of the agent's. The
 * first one of a name counts. Returns NULL without memory. */
static char *const *merge(const char *const *settings)
{
	const char *const *host = (const char *const *)environ;
	size_t first = count_texts(settings), count = first + count_texts(host);
	const char **merged = hk_arena_take((count + 1) * sizeof(*merged));
	bool copied = merged && copy_texts(merged, settings, first) &&
		      copy_texts(merged + first, host, count - first);
	return copied ? (char *const *)merged : NULL;
}

/* ---- another copy ---- */

enum other { NONE, INERT, TRACING, OLDER };

struct search {
	enum other other;
	char path[128];
};

static void find_state(const struct hk_object *object, struct search *search)
{
	const ElfW(Sym) *state = hk_object_find(object, "hk_agent_on");
	const ElfW(Sym) *version = hk_object_find(object, "hk_agent_version");
	if (!version || version->st_shndx == SHN_UNDEF) {
		return;
	}
	enum other other = OLDER;
	if (state && state->st_shndx != SHN_UNDEF && state->st_size == sizeof(int)) {
		other = *(const int *)(object->base + state->st_value) ? TRACING : INERT;
	}
	if (other > search->other) {
		size_t length = strlen(object->name), room = sizeof(search->path) - 1;
		search->other = other;
		memcpy(search->path, object->name, length < room ? length : room);
	}
}

/* Finds other copies of the agent: two files, or one file under two names, are both loaded. */
static int find_other(struct dl_phdr_info *info, size_t size, void *data)
{
	struct hk_object object;
	(void)size;
	if (hk_object_read(info, &object) == 0 &&
	    !hk_object_holds(&object, (uintptr_t)&hk_agent_on, sizeof(hk_agent_on))) {
		find_state(&object, data);
	}
	return 0;
}

/* ---- start and stop ---- */

static void append(char *text, const char *more)
{
	size_t used = strlen(text), room = HK_REASON_BYTES - 1 - used, length = strlen(more);
	length = length < room ? length : room;
	memcpy(text + used, more, length);
	text[used + length] = 0;
}

/* Returns 1 or -1 with REASON if this copy must not start, else 0. */
static int refuse(char *const *environment, char reason[HK_REASON_BYTES])
{
	const char *disable = hk_identity_variable(environment, "HOOK_DISABLE");
	struct search search = {.other = NONE};
	dl_iterate_phdr(find_other, &search);
	if (search.other > INERT) {
		append(reason, search.other == TRACING
				   ? "another copy of the agent traces this process: "
				   : "another version of the agent is in this process: ");
		append(reason, search.path);
		return search.other == TRACING ? 1 : -1;
	}
	if (disable && disable[0] && disable[0] != '0') {
		append(reason, "HOOK_DISABLE is set");
	} else if (getauxval(AT_SECURE)) {
		append(reason, "the program was started with more rights than its user has");
	} else if (hk_process.sealed || !hk_sandbox_permits()) {
		append(reason, "a sandbox may kill for what tracing asks of the kernel");
	}
	return reason[0] ? -1 : 0;
}

static int start(const char *const *settings, char reason[HK_REASON_BYTES])
{
	if (hk_process.on) {
		return 1;
	}
	char *const *environment = merge(settings);
	if (!environment) {
		append(reason, "no memory");
		return -1;
	}
	int refused = refuse(environment, reason);
	return refused ? refused : hk_start(program.argc, program.argv, environment, true, reason);
}

static int stop(const char *const *unused, char reason[HK_REASON_BYTES])
{
	(void)unused;
	return hk_process.on ? hk_stop(reason) : 1;
}

/* Runs ACTION with signals blocked and outside of hooked calls. */
static int run(int (*action)(const char *const *, char *), const char *const *settings, char *text,
	       size_t bytes)
{
	char reason[HK_REASON_BYTES] = "";
	int result = -1, saved_errno = errno;
	if (!program.argv) {
		append(reason, "the agent needs glibc, and its constructor must have run");
	} else if (hk_in_agent || atomic_flag_test_and_set(&busy)) {
		append(reason, "the agent is being started or stopped");
	} else {
		uint64_t signals = hk_process_block_signals();
		hk_in_agent = 1;
		result = action(settings, reason);
		hk_agent_on = hk_process.on;
		hk_in_agent = 0;
		hk_process_restore_signals(signals);
		atomic_flag_clear(&busy);
	}
	if (text && bytes) {
		size_t length = strlen(reason);
		length = length < bytes ? length : bytes - 1;
		memcpy(text, reason, length);
		text[length] = 0;
	}
	errno = saved_errno;
	return result;
}

EXPORTED int hk_start_late(const char *const *settings, char *reason, size_t bytes)
{
	return run(start, settings, reason, bytes);
}

EXPORTED int hk_stop_late(char *reason, size_t bytes)
{
	return run(stop, NULL, reason, bytes);
}
