/*
 * What the simulated CUPTI declares: functions, numbers and records as CUPTI 13.0 has them
 * (cupti_activity.h of the CUDA toolkit), as far as tests use them.
 */
#ifndef HK_WORKLOADS_SIMCUDA_CUPTI_H
#define HK_WORKLOADS_SIMCUDA_CUPTI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SIM_CUPTI_SUCCESS = 0,
	SIM_CUPTI_INVALID_PARAMETER = 1,
	SIM_CUPTI_INVALID_OPERATION = 7,
	SIM_CUPTI_MAX_LIMIT_REACHED = 12,
	SIM_CUPTI_QUEUE_EMPTY = 18,
	SIM_CUPTI_INVALID_KIND = 21,
	SIM_CUPTI_NO_PRIVILEGE = 35,
	SIM_CUPTI_MULTIPLE_SUBSCRIBERS = 39,
	SIM_CUPTI_UNKNOWN = 999
};

enum {
	SIM_CUPTI_MEMCPY = 1,
	SIM_CUPTI_MEMSET = 2,
	SIM_CUPTI_DRIVER = 4,
	SIM_CUPTI_RUNTIME = 5,
	SIM_CUPTI_CONCURRENT_KERNEL = 10,
	SIM_CUPTI_EXTERNAL_CORRELATION = 39,
	SIM_CUPTI_KINDS = 64
};

struct sim_cupti_kernel {
	uint32_t kind;
	uint8_t cache, shared_config;
	uint16_t registers;
	uint32_t partitioned[2];
	uint64_t start, end, completed;
	uint32_t device, context, stream;
	int32_t grid[3], block[3];
	int32_t static_shared, dynamic_shared;
	uint32_t local_per_thread, local_total, correlation;
	int64_t grid_id;
	const char *name;
	uint8_t rest[104];
};

struct sim_cupti_memcpy {
	uint32_t kind;
	uint8_t copy_kind, from_kind, to_kind, flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, correlation;
	uint8_t rest[48];
};

struct sim_cupti_memset {
	uint32_t kind, value;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, correlation;
	uint8_t rest[40];
};

struct sim_cupti_api {
	uint32_t kind, cbid;
	uint64_t start, end;
	uint32_t process, thread, correlation, status;
};

struct sim_cupti_external {
	uint32_t kind, external_kind;
	uint64_t external_id;
	uint32_t correlation, reserved;
};

typedef void sim_cupti_requested(uint8_t **buffer, size_t *size, size_t *most);
typedef void sim_cupti_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
				 size_t valid);
typedef void sim_cupti_callback(void *data, int domain, uint32_t id, const void *info);

int cuptiGetVersion(uint32_t *version);
int cuptiGetTimestamp(uint64_t *timestamp);
int cuptiActivityRegisterCallbacks(sim_cupti_requested *requested, sim_cupti_completed *completed);
int cuptiActivityRegisterTimestampCallback(uint64_t (*now)(void));
int cuptiActivityEnable(int kind);
int cuptiActivityDisable(int kind);
int cuptiActivityEnableRuntimeApi(uint32_t cbid, uint8_t enable);
int cuptiActivityEnableDriverApi(uint32_t cbid, uint8_t enable);
int cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t enable);
int cuptiActivityFlushAll(uint32_t flag);
int cuptiActivityFlushPeriod(uint32_t ms);
int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record);
int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped);
int cuptiActivityPushExternalCorrelationId(int kind, uint64_t id);
int cuptiActivityPopExternalCorrelationId(int kind, uint64_t *last);
int cuptiActivitySetAttribute(int attribute, size_t *size, void *value);
int cuptiActivityRegisterCallbacks_v2(void *subscriber, sim_cupti_requested *requested,
				      sim_cupti_completed *completed);
int cuptiSubscribe(void **subscriber, sim_cupti_callback *callback, void *data);
int cuptiSubscribe_v2(void **subscriber, sim_cupti_callback *callback, void *data, void *params);
int cuptiUnsubscribe(void *subscriber);
int cuptiEnableCallback(uint32_t enable, void *subscriber, int domain, uint32_t id);
int cuptiEnableDomain(uint32_t enable, void *subscriber, int domain);
int cuptiGetCallbackName(int domain, uint32_t id, const char **name);
int cuptiGetResultString(int result, const char **text);
int cuptiGetDeviceId(void *context, uint32_t *device);
int cuptiGetContextId(void *context, uint32_t *id);
int cuptiGetStreamIdEx(void *context, void *stream, uint8_t per_thread, uint32_t *id);
int cuptiFinalize(void);

/* Not CUPTI: number of the call of the runtime, or the driver, that asks for work of a KIND of
 * work.h. */
uint32_t sim_cupti_cbid(bool runtime, unsigned kind);

/* Not CUPTI: number of calls of all functions since the last time. */
unsigned sim_cupti_calls(void);

#endif
