#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/lifecycle/discovery.h"
#include "collector/lifecycle/job_list.h"
#include "collector/lifecycle/job_open.h"
#include "collector/lifecycle/process_exit.h"
#include "collector/link/peers.h"
#include "collector/model/collector.h"
#include "collector/model/process.h"
#include "collector/proc/procfs.h"
#include "world.h"

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

/* A collector without server and loop: tests call its parts themselves. */
static struct hk_collector *collector_start(const struct world *world)
{
	struct hk_collector *collector = calloc(1, sizeof(*collector));
	assert_non_null(collector);
	for (int i = 0; i < HK_RUNDIR_CANDIDATES; i++) {
		collector->dirfd[i] = -1;
	}
	collector->dirfd[0] = open(world->run, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(collector->dirfd[0] >= 0);
	collector->options.keep = (struct hk_keep){UINT64_MAX, UINT64_MAX};
	snprintf(collector->run_directory, sizeof(collector->run_directory), "%s", world->run);
	snprintf(collector->store, sizeof(collector->store), "%s/store", world->base);
	collector->pid_namespace = hk_procfs_pid_namespace();
	collector->tick_ns_q32 = 1ull << 32;
	hk_discovery_open(collector);
	hk_job_restore_all(collector);
	hk_discovery_run(collector);
	return collector;
}

/* As kill -9 does: nothing is written any more. */
static void collector_die(struct hk_collector *collector)
{
	hk_job_free_all(collector);
	hk_peers_free_all(collector);
	close(collector->dirfd[0]);
	close(collector->inotify_fd);
	free(collector);
}

void world_make(struct world *world)
{
	memcpy(world->base, "/tmp/hk-process-XXXXXX", 23);
	assert_non_null(mkdtemp(world->base));
	snprintf(world->run, sizeof(world->run), "%s/run", world->base);
	assert_int_equal(mkdir(world->run, 0700), 0);
	assert_int_equal(setenv("HOOK_RUN_DIR", world->run, 1), 0);
	world->collector = collector_start(world);
}

void world_remove(struct world *world)
{
	collector_die(world->collector);
	assert_int_equal(nftw(world->base, remove_entry, 8, FTW_DEPTH | FTW_PHYS), 0);
}

void world_restart(struct world *world)
{
	collector_die(world->collector);
	world->collector = collector_start(world);
}

struct hk_process *world_find(const struct world *world, const struct process_maker *maker)
{
	struct hk_process *process;
	HASH_FIND(hh, world->collector->processes, maker->writer.header->uid, HK_UID_BYTES,
		  process);
	return process;
}

void world_finalise(struct world *world, const struct process_maker *maker)
{
	struct hk_process *process = world_find(world, maker);
	assert_non_null(process);
	hk_process_check(process);
	assert_true(process->exited);
	assert_int_equal(hk_process_finalise(world->collector, process), 0);
}
