/* target.h: a process that is to be traced, and why it cannot be. Main thread only. */
#ifndef HK_CLI_ATTACH_TARGET_H
#define HK_CLI_ATTACH_TARGET_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/attach/maps.h"

#define HK_ATTACH_WHY_BYTES 512u

struct hk_target {
	pid_t pid;
	uid_t uid; /* effective, as this process sees it */
	gid_t gid;
	char state;
	pid_t tracer;		    /* 0: none */
	uint64_t start_ticks;	    /* since boot: tells a reused pid */
	char program[PATH_MAX];	    /* of the file, as the process sees it */
	char line[1024];	    /* its command line */
	const struct hk_map *agent; /* the agent's file in it, or NULL */
	struct hk_maps maps;
};

/* Examines process PID. Returns 0, -ESRCH if there is none, or -ENOTSUP if it cannot be traced. WHY
 * is the reason, in one line. Free with hk_target_free. */
int hk_target_examine(pid_t pid, struct hk_target *ret_target, char why[HK_ATTACH_WHY_BYTES]);
void hk_target_free(struct hk_target *target);

/* Reads the maps of TARGET again. Returns 0 or -errno. */
int hk_target_refresh(struct hk_target *target);

/* Writes why ptrace of TARGET failed with ERROR. */
void hk_target_explain(const struct hk_target *target, int error, char why[HK_ATTACH_WHY_BYTES]);

/* Returns the name of user UID, or its number, in TEXT of SIZE bytes. */
const char *hk_target_user(uid_t uid, char *text, size_t size);

/* Returns whether TARGET has not ended. */
bool hk_target_lives(const struct hk_target *target);

/* Returns whether PATH names the same file or directory for TARGET as for this process. */
bool hk_target_sees(const struct hk_target *target, const char *path);

#endif
