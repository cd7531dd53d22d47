#include "cli/target/agent_library.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/beside.h"

#define LIBRARY "libhookagent.so"
#define NCCL_NAME_MOST 253u /* bytes that NCCL keeps of the name */

/* Paths relative to the directory of hookcli: the build tree, then places where packages install
 * libraries. */
static const char *const places[] = {
    "../agent/" LIBRARY,
    "../" HK_INSTALL_LIBDIR "/hooktrace/" LIBRARY,
    "../lib64/hooktrace/" LIBRARY,
    "../lib/hooktrace/" LIBRARY,
};

static int resolve(const char *candidate, char path[PATH_MAX])
{
	if (!realpath(candidate, path)) {
		return -ENOENT;
	}
	return strpbrk(path, " :") ? -EINVAL : 0;
}

int hk_agent_library_find(const char *chosen, char path[PATH_MAX])
{
	char candidate[PATH_MAX];

	if (chosen && *chosen) {
		return resolve(chosen, path);
	}
	if (hk_beside(places, sizeof(places) / sizeof(places[0]), R_OK, candidate) < 0) {
		return -ENOENT;
	}
	return resolve(candidate, path);
}

const char *hk_nvtx_next(const char *agent)
{
	const char *loaded = getenv(HK_NVTX_VARIABLE);

	/* Within a traced command it is the agent already. */
	if (loaded && strcmp(loaded, agent) == 0) {
		loaded = getenv(HK_NVTX_NEXT);
	}
	return loaded && *loaded ? loaded : NULL;
}

const char *hk_agent_nccl_plugin(const char *agent)
{
	return strlen(agent) <= NCCL_NAME_MOST ? agent : NULL;
}
