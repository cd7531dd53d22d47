/* What the files of the simulated runtime share. */
#ifndef HK_WORKLOADS_SIMCUDA_RUNTIME_H
#define HK_WORKLOADS_SIMCUDA_RUNTIME_H

#include "simcuda.h"

/* Starts the runtime if need be, and gives the thread a current device. */
void sim_enter(void);

/* Sets *TO, which is NULL until then, to the driver's function called BASE. Ends the program if
 * there is none. */
void sim_find(const char *base, void **to);
#define SIM_FIND(base, function) sim_find(base, (void **)&(function))

/* Keeps a failure for cudaGetLastError, and returns RESULT. */
int sim_done(int result);

/* Returns what the driver launches for KERNEL: the handle of a registered function, or KERNEL. */
const void *sim_launched(const void *kernel);

#endif
