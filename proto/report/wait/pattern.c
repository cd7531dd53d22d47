#include "report/wait/pattern.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "text/mpi_name.h"

static const char *const names[] = {"none",	  "late-sender",    "late-receiver", "barrier",
				    "all-to-all", "late-broadcast", "early-reduce"};

static const char *const domains[] = {"mpi", "gloo", "c10d"};

static const struct {
	const char *name; /* without MPI_ or gloo:: */
	enum hk_wait_pattern pattern;
} collectives[] = {
    {"barrier", HK_WAIT_BARRIER},
    {"allreduce", HK_WAIT_ALL},
    {"allgather", HK_WAIT_ALL},
    {"allgatherv", HK_WAIT_ALL},
    {"alltoall", HK_WAIT_ALL},
    {"alltoallv", HK_WAIT_ALL},
    {"alltoallw", HK_WAIT_ALL},
    {"reduce_scatter", HK_WAIT_ALL},
    {"reduce_scatter_block", HK_WAIT_ALL},
    {"bcast", HK_WAIT_LATE_BROADCAST},
    {"broadcast", HK_WAIT_LATE_BROADCAST},
    {"scatter", HK_WAIT_LATE_BROADCAST},
    {"scatterv", HK_WAIT_LATE_BROADCAST},
    {"reduce", HK_WAIT_EARLY_REDUCE},
    {"gather", HK_WAIT_EARLY_REDUCE},
    {"gatherv", HK_WAIT_EARLY_REDUCE},
};

static const char *const blocking_sends[] = {"send", "ssend"};

/* Returns whether FUNCTION is MPI's NAME, of C or Fortran. */
static bool is_mpi(const char *function, const char *name)
{
	char own[HK_MPI_NAME_BYTES];

	return hk_mpi_name(function, own) && strcmp(own, name) == 0;
}

/* Returns whether FUNCTION is a function NAME of the namespace gloo, as its symbol says. */
static bool is_gloo(const char *function, const char *name)
{
	static const char prefix[] = "_ZN4gloo";
	size_t length = strlen(name);
	char *end;

	if (strncmp(function, prefix, sizeof(prefix) - 1) != 0) {
		return false;
	}
	return strtoul(function + sizeof(prefix) - 1, &end, 10) == length &&
	       strncmp(end, name, length) == 0 && end[length] == 'E';
}

bool hk_wait_is_domain(const char *domain)
{
	size_t i = 0, count = sizeof(domains) / sizeof(domains[0]);

	while (i < count && strcmp(domain, domains[i]) != 0) {
		i++;
	}
	return i < count;
}

enum hk_wait_pattern hk_wait_pattern_of(const char *function)
{
	for (size_t i = 0; i < sizeof(collectives) / sizeof(collectives[0]); i++) {
		if (is_mpi(function, collectives[i].name) ||
		    is_gloo(function, collectives[i].name)) {
			return collectives[i].pattern;
		}
	}
	return HK_WAIT_NONE;
}

bool hk_wait_blocks(const char *function)
{
	for (size_t i = 0; i < sizeof(blocking_sends) / sizeof(blocking_sends[0]); i++) {
		if (is_mpi(function, blocking_sends[i])) {
			return true;
		}
	}
	return false;
}

const char *hk_wait_pattern_name(enum hk_wait_pattern pattern)
{
	return names[pattern];
}
