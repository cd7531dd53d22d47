/* Names and numbers that the simulated CUPTI answers with, as CUPTI has them. */
#include <string.h>

#include "cupti.h"

static const struct {
	const char *function, *name;
	bool runtime;
	uint32_t cbid;
} apis[] = {
    {"copy", "cudaMemcpy_v3020", true, 31},
    {"cudaMemcpy", "cudaMemcpy_v3020", true, 31},
    {"cudaMemcpyAsync", "cudaMemcpyAsync_v3020", true, 41},
    {"cudaMemset", "cudaMemset_v3020", true, 49},
    {"cudaMemsetAsync", "cudaMemsetAsync_v3020", true, 51},
    {"cudaMemset3D", "cudaMemset3D_v3020", true, 142},
    {"launch", "cudaLaunchKernel_v7000", true, 211},
    {"cudaLaunchKernelExC", "cudaLaunchKernelExC_v11060", true, 430},
    {"cuMemcpy", "cuMemcpy", false, 305},
    {"cuMemcpyAsync", "cuMemcpyAsync", false, 306},
    {"cuMemcpyAsync_ptsz", "cuMemcpyAsync_ptsz", false, 418},
    {"cuMemcpyHtoD_v2", "cuMemcpyHtoD_v2", false, 276},
    {"cuMemcpyDtoH_v2", "cuMemcpyDtoH_v2", false, 278},
    {"cuMemsetD8_v2", "cuMemsetD8_v2", false, 249},
    {"cuLaunchKernel", "cuLaunchKernel", false, 307},
    {"cuLaunchKernel_ptsz", "cuLaunchKernel_ptsz", false, 442},
    {"cuLaunchKernelEx", "cuLaunchKernelEx", false, 652},
};

uint32_t sim_cupti_cbid(bool runtime, const char *function)
{
	for (size_t i = 0; i < sizeof(apis) / sizeof(apis[0]); i++) {
		if (apis[i].runtime == runtime && strcmp(apis[i].function, function) == 0) {
			return apis[i].cbid;
		}
	}
	return 0;
}

int cuptiGetCallbackName(int domain, uint32_t id, const char **name)
{
	*name = NULL;
	for (size_t i = 0; i < sizeof(apis) / sizeof(apis[0]) && !*name; i++) {
		*name =
		    apis[i].cbid == id && apis[i].runtime == (domain == 2) ? apis[i].name : NULL;
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
