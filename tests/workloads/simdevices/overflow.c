/* The overflow flag of the simulated libascendcl.so: one for each device, set until it is reset. */
#include "acl.h"

static unsigned char flags[SIM_DEVICES][ACL_OVERFLOW_BYTES];
static int refusal;
static int overflow_mode = ACL_RT_OVERFLOW_MODE_SATURATION;

/* Returns what ACL returns for a result of device.h. */
static int code_of(int result)
{
	return result == 0 ? ACL_SUCCESS : ACL_ERROR_RT_PARAM_INVALID;
}

int aclrtGetDeviceSatMode(int *mode)
{
	*mode = overflow_mode;
	return ACL_SUCCESS;
}

int aclrtGetOverflowStatus(void *output, size_t size, aclrtStream stream)
{
	if (refusal) {
		return refusal;
	}
	return output && size == ACL_OVERFLOW_BYTES
		   ? code_of(sim_copy(stream, output, flags[sim_device()], size))
		   : ACL_ERROR_INVALID_PARAM;
}

int aclrtResetOverflowStatus(aclrtStream stream)
{
	return refusal ? refusal
		       : code_of(sim_set(stream, flags[sim_device()], 0, ACL_OVERFLOW_BYTES));
}

int sim_acl_overflow(aclrtStream stream)
{
	return code_of(sim_set(stream, flags[sim_device()], 1, 1));
}

void sim_acl_refuse_overflow(int error)
{
	refusal = error;
}

void sim_acl_set_overflow_mode(int mode)
{
	overflow_mode = mode;
}
