/* late_rounds AGENT ROUNDS THREADS SETTING...: starts and stops the agent in a process that runs
 * already.
 *
 * THREADS threads call functions of the library all the time and check their results. In each round
 * the agent is started as job round-N with the SETTINGS, each thread makes CALLS marked calls, and
 * the agent is stopped. One thread waits in a call while the agent is stopped. Afterwards no slot
 * of the process may lead into the agent. Prints a line a round. Ends with 1 if anything is wrong.
 */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "late_library.h"

#if defined(__x86_64__)
#define SLOT_PLT R_X86_64_JUMP_SLOT
#define SLOT_GOT R_X86_64_GLOB_DAT
#else
#define SLOT_PLT R_AARCH64_JUMP_SLOT
#define SLOT_GOT R_AARCH64_GLOB_DAT
#endif

#define CALLS 1000
#define SETTINGS_MAX 16
#define THREADS_MAX 16

typedef int start_function(const char *const *settings, char *reason, size_t bytes);
typedef int stop_function(char *reason, size_t bytes);

static atomic_int round_number, finished, wrong, stopping;
static int waits[2];

static void check(int holds, const char *what)
{
	if (!holds) {
		fprintf(stderr, "late_rounds: %s\n", what);
		atomic_store(&wrong, 1);
	}
}

static void *work(void *unused)
{
	int seen = 0;
	for (long i = 0; !atomic_load(&stopping); i++) {
		check(late_work(i) == i * 3 + 1, "late_work is wrong");
		check(late_many(1, 2, 3, 4, 5, 6, 7, 0.5, i) == (double)(28 + i) + 0.5,
		      "late_many is wrong");
		if (atomic_load(&round_number) != seen) {
			seen = atomic_load(&round_number);
			for (long k = 0; k < CALLS; k++) {
				check(late_marked(k) == (k ^ 0x55), "late_marked is wrong");
			}
			atomic_fetch_add(&finished, 1);
		}
	}
	return unused;
}

/* Waits in the library, across starts and stops. */
static void *wait_for_bytes(void *unused)
{
	int got;
	do {
		got = late_wait(waits[0]);
		check(got == 'x' || got == 'e', "late_wait is wrong");
	} while (got == 'x');
	return unused;
}

/* ---- slots ---- */

struct span {
	uintptr_t start, end;
};

struct slots {
	struct span agent;
	int count; /* that lead into it */
};

static int find_agent(struct dl_phdr_info *info, size_t size, void *data)
{
	struct span *span = data;
	(void)size;
	if (!strstr(info->dlpi_name, "libhookagent")) {
		return 0;
	}
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		if (part->p_type == PT_LOAD) {
			uintptr_t start = info->dlpi_addr + part->p_vaddr;
			span->start = span->start ? span->start : start;
			span->end = start + part->p_memsz;
		}
	}
	return 1;
}

static int count_table(const struct dl_phdr_info *info, const struct span *agent, uintptr_t table,
		       size_t bytes)
{
	const ElfW(Rela) *at = (const ElfW(Rela) *)table;
	int count = 0;
	for (size_t i = 0; table && i < bytes / sizeof(*at); i++) {
		unsigned type = ELF64_R_TYPE(at[i].r_info);
		if (type == SLOT_PLT || type == SLOT_GOT) {
			uintptr_t value = *(uintptr_t *)(info->dlpi_addr + at[i].r_offset);
			count += value >= agent->start && value < agent->end;
		}
	}
	return count;
}

/* Counts the slots that lead into the agent. */
static int count_slots(struct dl_phdr_info *info, size_t size, void *data)
{
	uintptr_t value[DT_JMPREL + 1] = {0};
	(void)size;
	if (strstr(info->dlpi_name, "libhookagent") || strstr(info->dlpi_name, "vdso")) {
		return 0;
	}
	for (int i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type != PT_DYNAMIC) {
			continue;
		}
		const ElfW(Dyn) *entry =
		    (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
		for (; entry->d_tag != DT_NULL; entry++) {
			if (entry->d_tag >= 0 && entry->d_tag <= DT_JMPREL) {
				value[entry->d_tag] = entry->d_un.d_val;
			}
		}
	}
	struct slots *slots = data;
	slots->count += count_table(info, &slots->agent, value[DT_JMPREL], value[DT_PLTRELSZ]) +
			count_table(info, &slots->agent, value[DT_RELA], value[DT_RELASZ]);
	return 0;
}

static void check_slots(int traced)
{
	struct slots slots = {{0, 0}, 0};
	dl_iterate_phdr(find_agent, &slots.agent);
	check(slots.agent.end > slots.agent.start, "the agent is not loaded");
	dl_iterate_phdr(count_slots, &slots);
	if (traced) {
		check(slots.count > 0, "no slot leads into the agent");
	} else {
		check(slots.count == 0, "a slot leads into the agent");
	}
}

/* ---- rounds ---- */

static void run_round(int number, int threads, void *agent, const char **settings, int job)
{
	char reason[256] = "", name[64];
	start_function *start = (start_function *)dlsym(agent, "hk_start_late");
	stop_function *stop = (stop_function *)dlsym(agent, "hk_stop_late");
	snprintf(name, sizeof(name), "HOOK_JOB=round-%d", number);
	settings[job] = name;
	int started = start(settings, reason, sizeof(reason));
	if (started != 0) {
		fprintf(stderr, "late_rounds: start returns %d: %s\n", started, reason);
		exit(1);
	}
	check(start(settings, reason, sizeof(reason)) == 1, "a second start must find the first");
	check_slots(1);
	atomic_store(&finished, 0);
	atomic_store(&round_number, number);
	while (atomic_load(&finished) < threads) {
		usleep(100);
	}
	check(stop(reason, sizeof(reason)) == 0, reason);
	check(stop(reason, sizeof(reason)) == 1, "a second stop must find nothing");
	check_slots(0);
	if (number % 2) {
		check(write(waits[1], "x", 1) == 1, "write");
	}
	printf("round %d\n", number);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const char *settings[SETTINGS_MAX] = {NULL};
	pthread_t thread[THREADS_MAX], waiter;
	int rounds = argc > 3 ? atoi(argv[2]) : 0, threads = argc > 3 ? atoi(argv[3]) : 0;
	if (argc < 4 || argc - 4 + 2 > SETTINGS_MAX || threads > THREADS_MAX || pipe(waits) < 0) {
		return 2;
	}
	for (int i = 4; i < argc; i++) {
		settings[i - 4] = argv[i];
	}
	pthread_create(&waiter, NULL, wait_for_bytes, NULL);
	for (int i = 0; i < threads; i++) {
		pthread_create(&thread[i], NULL, work, NULL);
	}
	void *agent = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	if (!agent) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	for (int number = 1; number <= rounds; number++) {
		run_round(number, threads, agent, settings, argc - 4);
	}
	atomic_store(&stopping, 1);
	for (int i = 0; i < threads; i++) {
		pthread_join(thread[i], NULL);
	}
	check(write(waits[1], "e", 1) == 1, "write");
	pthread_join(waiter, NULL);
	return atomic_load(&wrong);
}
