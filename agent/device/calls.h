/* calls.h: the calls of CUDA's runtime and driver whose records CUPTI is asked for: those that ask
 * a device for work. Records of all other calls would only cost time. */
#ifndef HK_AGENT_DEVICE_CALLS_H
#define HK_AGENT_DEVICE_CALLS_H

#include <stdint.h>

/* Calls CHOOSE, cuptiActivityEnableRuntimeApi or ...DriverApi, for each of them. */
void hk_device_choose_runtime(int (*choose)(uint32_t call, uint8_t enable));
void hk_device_choose_driver(int (*choose)(uint32_t call, uint8_t enable));

#endif
