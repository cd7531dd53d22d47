#include "base/identity.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Slurm numbers the batch script, the external and the interactive step from here on: none of them
 * is a parallel step. */
#define SLURM_STEP_SPECIAL 0xfffffff0u

/* The variables that a launcher sets. GATE: one of these must be set too, because the names alone
 * are too common. */
struct source {
	const char *rank, *world_size, *local_rank;
	const char *gate[2];
};

static const struct source sources[] = {
    {"HOOK_RANK", "HOOK_WORLD_SIZE", "HOOK_LOCAL_RANK", {NULL, NULL}},
    {"RANK", "WORLD_SIZE", "LOCAL_RANK", {"MASTER_ADDR", "TORCHELASTIC_RUN_ID"}},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", {NULL, NULL}},
    {"PMIX_RANK", NULL, NULL, {"PMIX_NAMESPACE", NULL}},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", {NULL, NULL}},
    {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", {"SLURM_STEP_ID", NULL}},
    {"RANK", "WORLD_SIZE", "LOCAL_RANK", {"WORLD_SIZE", NULL}},
};
#define SOURCE_COUNT (sizeof(sources) / sizeof(sources[0]))

const char *hk_identity_variable(char *const *environment, const char *name)
{
	size_t size = strlen(name);

	for (; environment && *environment; environment++) {
		if (strncmp(*environment, name, size) == 0 && (*environment)[size] == '=') {
			return *environment + size + 1;
		}
	}
	return NULL;
}

/* Value of NAME, or NULL if it is unset or empty. */
static const char *filled(char *const *environment, const char *name)
{
	const char *value = name ? hk_identity_variable(environment, name) : NULL;
	return value && *value ? value : NULL;
}

/* Decimal digits only, at most LIMIT; -1 if NAME is unset or anything else. */
static int64_t number(char *const *environment, const char *name, int64_t limit)
{
	const char *text = filled(environment, name);
	int64_t value = 0;

	if (!text) {
		return -1;
	}
	for (; *text; text++) {
		if (*text < '0' || *text > '9') {
			return -1;
		}
		value = value * 10 + (*text - '0');
		if (value > limit) {
			return -1;
		}
	}
	return value;
}

static bool is_step(char *const *environment)
{
	return number(environment, "SLURM_STEP_ID", SLURM_STEP_SPECIAL - 1) >= 0;
}

static bool is_open(char *const *environment, const struct source *source)
{
	if (!source->gate[0]) {
		return true;
	}
	if (strcmp(source->gate[0], "SLURM_STEP_ID") == 0) {
		return is_step(environment);
	}
	/* Without a launcher's mark, rank and world size must be numbers that fit each other. */
	if (strcmp(source->gate[0], "WORLD_SIZE") == 0) {
		int64_t rank = number(environment, source->rank, INT32_MAX - 1);
		return rank >= 0 && number(environment, source->world_size, INT32_MAX) > rank;
	}
	return filled(environment, source->gate[0]) || filled(environment, source->gate[1]);
}

/* Bounded append; a longer text is cut. */
static void append(char *text, size_t size, const char *more)
{
	size_t length = strlen(text);
	size_t room = size - 1 - length;
	size_t count = strnlen(more, room);
	memcpy(text + length, more, count);
	text[length + count] = '\0';
}

/* Fills the fields that are still unknown from SOURCE. A source with another rank describes another
 * job and is ignored. */
static void take_ranks(char *const *environment, const struct source *source,
		       struct hk_identity *identity)
{
	int32_t rank = (int32_t)number(environment, source->rank, INT32_MAX - 1);
	int32_t world = (int32_t)number(environment, source->world_size, INT32_MAX);
	int32_t local = (int32_t)number(environment, source->local_rank, INT32_MAX - 1);

	if (identity->rank < 0 && rank >= 0) {
		identity->rank = rank;
		append(identity->rank_source, sizeof(identity->rank_source), source->rank);
	}
	/* HOOK_* variables count one by one, with or without a rank beside them. */
	if (rank != identity->rank && source != &sources[0]) {
		return;
	}
	if (identity->world_size < 0 && world > 0 && world > identity->rank) {
		identity->world_size = world;
	}
	if (identity->local_rank < 0 && local >= 0) {
		identity->local_rank = local;
	}
}

static void set_job(struct hk_identity *identity, const char *source, const char *const *parts,
		    size_t count)
{
	for (size_t i = 0; i < count; i++) {
		append(identity->job, sizeof(identity->job), parts[i]);
	}
	append(identity->job_source, sizeof(identity->job_source), source);
	for (char *at = identity->job; *at; at++) {
		bool plain = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
			     (*at >= '0' && *at <= '9') || *at == '-' || *at == '_' ||
			     (*at == '.' && at != identity->job);
		if (!plain) {
			*at = '_';
		}
	}
}

static bool take_torch_job(char *const *environment, struct hk_identity *identity)
{
	const char *run = filled(environment, "TORCHELASTIC_RUN_ID");
	const char *address = filled(environment, "MASTER_ADDR");
	const char *port = filled(environment, "MASTER_PORT");
	const char *restarts = filled(environment, "TORCHELASTIC_RESTART_COUNT");

	if (!filled(environment, "RANK") || (!run && !address)) {
		return false;
	}
	const char *const parts[] = {run ? run : "torch",     "-",
				     address ? address : "",  port ? ":" : "",
				     port ? port : "",	      restarts ? "-" : "",
				     restarts ? restarts : ""};
	set_job(identity, run ? "TORCHELASTIC_RUN_ID" : "MASTER_ADDR", parts,
		sizeof(parts) / sizeof(parts[0]));
	return true;
}

static void take_job(char *const *environment, struct hk_identity *identity)
{
	const char *given = filled(environment, "HOOK_JOB");
	const char *allocation = filled(environment, "SLURM_JOB_ID");
	const char *space = filled(environment, "PMIX_NAMESPACE");
	const char *daemon = filled(environment, "OMPI_COMM_WORLD_RANK");

	if (given) {
		set_job(identity, "HOOK_JOB", &given, 1);
		return;
	}
	/* Ranks that mpirun starts inherit the step of its daemons, and on the first node there is
	 * none: only the namespace is the same for all of them. */
	if (allocation && is_step(environment) && !(daemon && space)) {
		const char *const parts[] = {allocation, ".", filled(environment, "SLURM_STEP_ID")};
		set_job(identity, "SLURM_STEP_ID", parts, 3);
		return;
	}
	if (space) {
		set_job(identity, "PMIX_NAMESPACE", &space, 1);
		return;
	}
	take_torch_job(environment, identity);
}

void hk_identity_read(char *const *environment, struct hk_identity *ret_identity)
{
	struct hk_identity identity = {.rank = -1, .world_size = -1, .local_rank = -1};

	for (size_t i = 0; i < SOURCE_COUNT; i++) {
		if (is_open(environment, &sources[i])) {
			take_ranks(environment, &sources[i], &identity);
		}
	}
	take_job(environment, &identity);
	*ret_identity = identity;
}
