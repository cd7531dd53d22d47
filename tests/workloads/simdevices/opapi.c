/* A simulated libopapi.so: two operators, which add words of eight bytes. */
#include <stdlib.h>

#include "acl.h"

struct sim_executor {
	struct sim_launch launch;
};

static void add(const struct sim_launch *launch)
{
	const int64_t *self = launch->arguments[0], *other = launch->arguments[1];

	*(int64_t *)launch->arguments[2] = *self + *other * (int64_t)(intptr_t)launch->arguments[3];
}

static int prepare(const void *self, const void *other, int64_t factor, void *out, uint64_t *bytes,
		   aclOpExecutor **executor)
{
	aclOpExecutor *made = self && other && out ? calloc(1, sizeof(*made)) : NULL;

	if (!made) {
		return ACL_ERROR_INVALID_PARAM;
	}
	made->launch.arguments[0] = (void *)(uintptr_t)self;
	made->launch.arguments[1] = (void *)(uintptr_t)other;
	made->launch.arguments[2] = out;
	made->launch.arguments[3] = (void *)(intptr_t)factor;
	*executor = made;
	*bytes = 64;
	return ACL_SUCCESS;
}

static int execute(aclOpExecutor *executor, uint64_t bytes, aclrtStream stream)
{
	int result = bytes == 64 ? sim_run(stream, add, &executor->launch) : -1;

	free(executor);
	return result == 0 ? ACL_SUCCESS : ACL_ERROR_INVALID_PARAM;
}

int aclnnAddGetWorkspaceSize(const void *self, const void *other, const void *alpha, void *out,
			     uint64_t *workspace_bytes, aclOpExecutor **executor)
{
	return prepare(self, other, *(const int64_t *)alpha, out, workspace_bytes, executor);
}

int aclnnAdd(void *workspace, uint64_t workspace_bytes, aclOpExecutor *executor, aclrtStream stream)
{
	return workspace ? execute(executor, workspace_bytes, stream) : ACL_ERROR_INVALID_PARAM;
}

/* Arguments on the stack, which an undescribed call must not lose. */
int aclnnScaledAddGetWorkspaceSize(const void *self, const void *other, int64_t a, int64_t b,
				   int64_t c, int64_t d, int64_t factor, void *out,
				   uint64_t *workspace_bytes, aclOpExecutor **executor)
{
	return a + b + c + d == 10 ? prepare(self, other, factor, out, workspace_bytes, executor)
				   : ACL_ERROR_INVALID_PARAM;
}

int aclnnScaledAdd(void *workspace, uint64_t workspace_bytes, aclOpExecutor *executor,
		   aclrtStream stream)
{
	return aclnnAdd(workspace, workspace_bytes, executor, stream);
}
