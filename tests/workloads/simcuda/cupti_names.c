/* Names and numbers that the simulated CUPTI answers with, as CUPTI has them. */
#include "cupti.h"

/* By kind of work; of the driver, then of the runtime. */
static const struct {
	uint32_t cbid;
	const char *name;
} apis[2][3] = {
    {{307, "cuLaunchKernel"}, {306, "cuMemcpyAsync"}, {249, "cuMemsetD8_v2"}},
    {{211, "cudaLaunchKernel_v7000"}, {41, "cudaMemcpyAsync_v3020"}, {49, "cudaMemset_v3020"}},
};

uint32_t sim_cupti_cbid(bool runtime, unsigned kind)
{
	return kind < 3 ? apis[runtime][kind].cbid : 0;
}

int cuptiGetCallbackName(int domain, uint32_t id, const char **name)
{
	*name = NULL;
	for (unsigned i = 0; i < 3; i++) {
		*name = apis[domain == 2][i].cbid == id ? apis[domain == 2][i].name : *name;
	}
	return *name ? SIM_CUPTI_SUCCESS : SIM_CUPTI_INVALID_PARAMETER;
}

int cuptiGetResultString(int result, const char **text)
{
	*text = result ? "simulated CUPTI: failed" : "simulated CUPTI: success";
	return SIM_CUPTI_SUCCESS;
}

int cuptiGetDeviceId(void *context, uint32_t *device)
{
	(void)context;
	*device = 0;
	return SIM_CUPTI_SUCCESS;
}

int cuptiGetContextId(void *context, uint32_t *id)
{
	(void)context;
	*id = 1;
	return SIM_CUPTI_SUCCESS;
}

int cuptiGetStreamIdEx(void *context, void *stream, uint8_t per_thread, uint32_t *id)
{
	(void)context;
	(void)per_thread;
	*id = 7 + (stream != NULL);
	return SIM_CUPTI_SUCCESS;
}
