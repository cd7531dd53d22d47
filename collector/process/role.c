#include "collector/process/role.h"

#include <string.h>

static const char *const launchers[] = {
    "mpirun", "mpiexec",    "mpiexec.hydra", "orterun", "prterun", "prted",   "orted",
    "srun",   "slurmstepd", "torchrun",	     "sh",	"bash",	   "dash",    "zsh",
    "ksh",    "csh",	    "tcsh",	     "fish",	"ssh",	   "env",     "nice",
    "nohup",  "timeout",    "time",	     "numactl", "taskset", "hookcli", "hydra_pmi_proxy",
};

/* Returns whether BASE is NAME, or NAME with a suffix after a dot, as "mpiexec.openmpi". */
static bool same_program(const char *base, const char *name)
{
	size_t length = strlen(name);
	return strncmp(base, name, length) == 0 && (base[length] == '\0' || base[length] == '.');
}

/* True for mpirun, shells, wrappers such as env or timeout, and Python's torch launcher without a
 * rank. */
static bool is_launcher(const char *program, const char *command, int32_t rank)
{
	const char *slash = strrchr(program, '/');
	const char *base = slash ? slash + 1 : program;
	for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++) {
		if (same_program(base, launchers[i])) {
			return true;
		}
	}
	return rank < 0 &&
	       (strstr(command, "torch.distributed.run") ||
		strstr(command, "torch.distributed.launch") || strstr(command, "bin/torchrun "));
}

Hk__Role hk_role_decide(const struct hk_role_facts *facts)
{
	if (facts->predecessor == HK__ROLE__ROLE_MAIN ||
	    facts->predecessor == HK__ROLE__ROLE_HELPER) {
		return facts->predecessor;
	}
	if (facts->below_main) {
		return HK__ROLE__ROLE_HELPER;
	}
	if (is_launcher(facts->program, facts->command, facts->rank)) {
		return HK__ROLE__ROLE_LAUNCHER;
	}
	bool main_is_another = facts->forked || facts->main_lives;
	return main_is_another ? HK__ROLE__ROLE_HELPER : HK__ROLE__ROLE_MAIN;
}
