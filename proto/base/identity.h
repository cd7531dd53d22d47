/* identity.h: rank, world size and job of this process, read from its launcher's variables. Order:
 * HOOK_*, torchrun, Open MPI, PMI/PMIx, Slurm. Job id: HOOK_JOB, Slurm job.step, PMIx namespace,
 * torchrun run id + master address:port + restart count. Pure function of the environment passed
 * in; libc only, no allocation. */
#ifndef HK_BASE_IDENTITY_H
#define HK_BASE_IDENTITY_H

#include <stdint.h>

struct hk_identity {
	int32_t rank, world_size, local_rank; /* -1: unknown */
	char job[128];			      /* empty: unknown; printable, no '/' */
	char job_source[32];		      /* variable or launcher that gave the job id */
	char rank_source[32];
};

/* Reads ENVIRON-style NAME=VALUE strings ended by NULL. Values that are no numbers in range count
 * as unset. */
void hk_identity_read(char *const *environment, struct hk_identity *ret_identity);

/* Value of NAME in ENVIRONMENT or NULL: getenv without its locale of locks, usable before main. */
const char *hk_identity_variable(char *const *environment, const char *name);

#endif
