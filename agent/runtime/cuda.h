/* cuda.h: what only the CUDA library of the process can tell about a call: which device.
 *
 * Asks the driver (cuCtxGetDevice, which reads the thread's own state), whichever runtime the host
 * uses and however that is linked; without a driver, the runtime (cudaGetDevice).
 */
#ifndef HK_AGENT_RUNTIME_CUDA_H
#define HK_AGENT_RUNTIME_CUDA_H

#include <stdint.h>

#include "agent/frame/call.h"
#include "hooks/hook.h"

/* Makes scans look for the library's functions. Before the first scan. */
void hk_cuda_setup(void);

/* Value of a CUDA factor for CALL, which has returned; -1 where CUDA cannot tell or the call
 * failed. Calls the host's library. */
uint64_t hk_cuda_factor(struct hk_call *call, const struct hk_factor *factor);

#endif
