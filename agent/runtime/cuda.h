/* cuda.h: asks the CUDA library of the process for the device of a call.
 *
 * The driver answers (cuCtxGetDevice, which reads the thread's own state) for any runtime of the
 * host, linked statically or not. Without a driver the runtime answers (cudaGetDevice).
 */
#ifndef HK_AGENT_RUNTIME_CUDA_H
#define HK_AGENT_RUNTIME_CUDA_H

#include <stdint.h>

#include "agent/frame/call.h"
#include "hooks/hook.h"

/* Makes scans look for the library's functions. Before the first scan. */
void hk_cuda_setup(void);

/* Returns the value of a CUDA factor for CALL, which has returned, or -1 if CUDA has no answer or
 * the call failed. Calls the host's library. */
uint64_t hk_cuda_factor(struct hk_call *call, const struct hk_factor *factor);

#endif
