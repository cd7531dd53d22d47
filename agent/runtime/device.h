/* device.h: asks the runtime of a device for the device of a call.
 *
 * The hook's file says which runtime (enum hk_runtime). For CUDA the driver answers
 * (cuCtxGetDevice, which reads the thread's own state) for any runtime of the host, linked
 * statically or not. Without a driver the runtime answers (cudaGetDevice).
 */
#ifndef HK_AGENT_RUNTIME_DEVICE_H
#define HK_AGENT_RUNTIME_DEVICE_H

#include <stdint.h>

#include "agent/frame/call.h"
#include "hooks/hook.h"

/* Makes scans look for the runtimes' functions. Before the first scan. */
void hk_device_setup(void);

/* Returns the value of a device factor for CALL, which has returned, or -1 if the runtime has no
 * answer or the call failed. Calls the host's library. */
uint64_t hk_device_factor(struct hk_call *call, const struct hk_factor *factor);

#endif
