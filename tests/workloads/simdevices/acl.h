/* What the simulated libascendcl, libopapi and libhccl declare: names, values and types of Ascend's
 * that the test program uses. */
#ifndef HK_WORKLOADS_ACL_H
#define HK_WORKLOADS_ACL_H

#include "device.h"

enum {
	ACL_SUCCESS = 0,
	ACL_ERROR_INVALID_PARAM = 100000,
	ACL_ERROR_RT_PARAM_INVALID = 107000,
	ACL_ERROR_RT_INVALID_DEVICEID = 107001,
	ACL_ERROR_RT_MEMORY_ALLOCATION = 207001
};
enum { ACL_HOST_TO_DEVICE = 1, ACL_DEVICE_TO_HOST = 2, ACL_DEVICE_TO_DEVICE = 3 };
enum { ACL_EVENT_RECORDED_STATUS_NOT_READY = 0, ACL_EVENT_RECORDED_STATUS_COMPLETE = 1 };
enum { ACL_STREAM_STATUS_COMPLETE = 0, ACL_STREAM_STATUS_NOT_READY = 1 };
enum { ACL_RT_OVERFLOW_MODE_SATURATION = 0, ACL_RT_OVERFLOW_MODE_INFNAN = 1 };
#define ACL_OVERFLOW_BYTES 64 /* of the flag, as aclrtGetOverflowStatus writes it */

typedef struct sim_stream *aclrtStream;
typedef struct sim_event *aclrtEvent;
typedef struct sim_binary *aclrtBinHandle;
typedef struct sim_function *aclrtFuncHandle;
typedef struct sim_executor aclOpExecutor;

/* Not ACL's: what aclrtBinaryLoadFromData takes for a binary. */
struct sim_binary {
	const char *name;
	sim_kernel *kernel;
};
/* aclrtPhysicalMemProp: where the memory is to lie is 12 bytes into it. */
struct sim_memory_properties {
	int handle_type, allocation_type, attribute;
	uint32_t location_id;
	int location_type;
	uint32_t rest[3];
};

#pragma GCC visibility push(default)

int aclInit(const char *configuration);
int aclFinalize(void);
int aclrtSetDevice(int device);
int aclrtGetDevice(int *device);
int aclrtGetDeviceCount(uint32_t *count);
int aclrtSynchronizeDevice(void);
int aclrtMalloc(void **pointer, size_t size, int policy);
int aclrtMallocAlign32(void **pointer, size_t size, int policy);
int aclrtMallocCached(void **pointer, size_t size, int policy);
int aclrtMallocPhysical(void **handle, size_t size, const struct sim_memory_properties *properties,
			uint64_t flags);
int aclrtMemAllocManaged(void **pointer, uint64_t size, uint32_t flag);
int aclrtMallocHost(void **pointer, size_t size);
int aclrtHostRegister(void *pointer, uint64_t size, int type, void **device_pointer);
int aclrtFree(void *pointer);
int aclrtFreePhysical(void *handle);
int aclrtFreeHost(void *pointer);
int aclrtHostUnregister(void *pointer);
int aclrtMemcpy(void *to, size_t most, const void *from, size_t count, int kind);
int aclrtMemcpyAsync(void *to, size_t most, const void *from, size_t count, int kind,
		     aclrtStream stream);
int aclrtMemcpy2d(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
		  size_t height, int kind);
int aclrtMemcpyBatch(void **to, size_t *most, void **from, size_t *sizes, size_t count,
		     void *attributes, size_t *indexes, size_t attribute_count, size_t *failed);
int aclrtMemset(void *to, size_t most, int32_t value, size_t count);
int aclrtMemsetAsync(void *to, size_t most, int32_t value, size_t count, aclrtStream stream);
int aclrtBinaryLoadFromData(const void *data, size_t size, const void *options,
			    aclrtBinHandle *binary);
int aclrtBinaryGetFunction(aclrtBinHandle binary, const char *name, aclrtFuncHandle *function);
int aclrtBinaryUnLoad(aclrtBinHandle binary);
int aclrtLaunchKernel(aclrtFuncHandle function, uint32_t blocks, const void *arguments,
		      size_t argument_bytes, aclrtStream stream);
int aclrtCreateStream(aclrtStream *stream);
int aclrtDestroyStream(aclrtStream stream);
int aclrtSynchronizeStream(aclrtStream stream);
int aclrtStreamQuery(aclrtStream stream, int *status);
int aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event);
int aclrtCreateEvent(aclrtEvent *event);
int aclrtDestroyEvent(aclrtEvent event);
int aclrtRecordEvent(aclrtEvent event, aclrtStream stream);
int aclrtQueryEventStatus(aclrtEvent event, int *status);
int aclrtSynchronizeEvent(aclrtEvent event);
int aclrtGetDeviceSatMode(int *mode);
int aclrtGetOverflowStatus(void *output, size_t size, aclrtStream stream);
int aclrtResetOverflowStatus(aclrtStream stream);

/* Not ACL's, for tests: work on STREAM overflows on the current device; the flag's functions return
 * ERROR from now on; overflows have a MODE of ACL_RT_OVERFLOW_MODE. */
int sim_acl_overflow(aclrtStream stream);
void sim_acl_refuse_overflow(int error);
void sim_acl_set_overflow_mode(int mode);

/* ---- operators: libopapi.so */

int aclnnAddGetWorkspaceSize(const void *self, const void *other, const void *alpha, void *out,
			     uint64_t *workspace_bytes, aclOpExecutor **executor);
int aclnnAdd(void *workspace, uint64_t workspace_bytes, aclOpExecutor *executor,
	     aclrtStream stream);
int aclnnScaledAddGetWorkspaceSize(const void *self, const void *other, int64_t a, int64_t b,
				   int64_t c, int64_t d, int64_t factor, void *out,
				   uint64_t *workspace_bytes, aclOpExecutor **executor);
int aclnnScaledAdd(void *workspace, uint64_t workspace_bytes, aclOpExecutor *executor,
		   aclrtStream stream);

/* ---- HCCL: libhccl.so */

enum { HCCL_SUCCESS = 0, HCCL_E_PARA = 1 };
enum {
	HCCL_DATA_TYPE_INT8 = 0,
	HCCL_DATA_TYPE_INT16 = 1,
	HCCL_DATA_TYPE_INT32 = 2,
	HCCL_DATA_TYPE_FP16 = 3,
	HCCL_DATA_TYPE_FP32 = 4,
	HCCL_DATA_TYPE_INT64 = 5,
	HCCL_DATA_TYPE_UINT8 = 7,
	HCCL_DATA_TYPE_UINT32 = 9,
	HCCL_DATA_TYPE_FP64 = 10,
	HCCL_DATA_TYPE_BFP16 = 11
};

typedef struct sim_comm *HcclComm;
typedef struct {
	char internal[4108];
} HcclRootInfo;

int HcclGetRootInfo(HcclRootInfo *info);
int HcclCommInitRootInfo(uint32_t ranks, const HcclRootInfo *info, uint32_t rank, HcclComm *comm);
int HcclCreateSubCommConfig(HcclComm *comm, uint32_t ranks, uint32_t *ids, uint64_t number,
			    uint32_t rank, void *configuration, HcclComm *part);
int HcclCommDestroy(HcclComm comm);
int HcclGetRankSize(HcclComm comm, uint32_t *ranks);
int HcclGetRankId(HcclComm comm, uint32_t *rank);
int HcclAllReduce(void *from, void *to, uint64_t count, int type, int op, HcclComm comm,
		  aclrtStream stream);
int HcclBroadcast(void *buffer, uint64_t count, int type, uint32_t root, HcclComm comm,
		  aclrtStream stream);
int HcclReduceScatter(void *from, void *to, uint64_t count, int type, int op, HcclComm comm,
		      aclrtStream stream);
int HcclScatter(void *from, void *to, uint64_t count, int type, uint32_t root, HcclComm comm,
		aclrtStream stream);
int HcclAllGather(void *from, void *to, uint64_t count, int type, HcclComm comm,
		  aclrtStream stream);
int HcclAlltoAll(const void *from, uint64_t count, int type, const void *to, uint64_t to_count,
		 int to_type, HcclComm comm, aclrtStream stream);
int HcclAlltoAllV(const void *from, const void *counts, const void *places, int type,
		  const void *to, const void *to_counts, const void *to_places, int to_type,
		  HcclComm comm, aclrtStream stream);
int HcclBarrier(HcclComm comm, aclrtStream stream);
int HcclSend(void *from, uint64_t count, int type, uint32_t peer, HcclComm comm,
	     aclrtStream stream);
int HcclRecv(void *to, uint64_t count, int type, uint32_t peer, HcclComm comm, aclrtStream stream);

#pragma GCC visibility pop

#endif
