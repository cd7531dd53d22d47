/* What the simulated libxpurt and libbkcl declare: names, values and types of Kunlun's that the
 * test program uses. BKCL has no public header: its calls are as their callers make them. */
#ifndef HK_WORKLOADS_XPU_H
#define HK_WORKLOADS_XPU_H

#include "device.h"

enum {
	XPU_SUCCESS = 0,
	XPUERR_INVALID_DEVICE = 701,
	XPUERR_NOMEM = 705,
	XPUERR_INVALID_PARAM = 707,
	XPUERR_NOXPUFUNC = 708
};
enum { XPU_MEM_MAIN = 0, XPU_MEM_L3 = 1 };
enum { XPU_DEVICE_TO_HOST = 0, XPU_HOST_TO_DEVICE = 1, XPU_DEVICE_TO_DEVICE = 2 };

typedef void *XPUStream;
typedef void *XPUFunc;
typedef void *XPUEvent;

#pragma GCC visibility push(default)

int xpu_set_device(int device);
int xpu_current_device(int *device);
int xpu_device_count(int *count);
int xpu_malloc(void **pointer, uint64_t size, int kind);
int xpu_free(void *pointer);
int xpu_host_alloc(void **pointer, uint64_t size, unsigned flags);
int xpu_host_free(void *pointer);
int xpu_host_register(void *pointer, uint64_t size, unsigned flags);
int xpu_host_unregister(void *pointer);
int xpu_memcpy(void *to, const void *from, uint64_t size, int kind);
int xpu_memcpy_peer(int to_device, void *to, int from_device, const void *from, uint64_t size);
int xpu_memcpy_async(void *to, const void *from, uint64_t size, int kind, XPUStream stream);
int xpu_create_cl_func(XPUFunc *function, uint64_t code, uint32_t bytes, uint32_t pc,
		       uint32_t parameter_words, uint64_t hash, const char *name, bool on_xpu);
int xpu_launch_config(int clusters, int cores, XPUStream stream);
int xpu_launch_argument_set(const void *argument, size_t size, size_t offset);
int xpu_launch_async(XPUFunc function);
int xpu_wait(XPUStream stream);
int xpu_stream_create(XPUStream *stream);
int xpu_stream_destroy(XPUStream stream);
int xpu_stream_synchronize(XPUStream stream);
int xpu_stream_wait_event(XPUStream stream, XPUEvent event);
int xpu_event_create(XPUEvent *event);
int xpu_event_record(XPUEvent event, XPUStream stream);
int xpu_event_wait(XPUEvent event);
int xpu_event_destroy(XPUEvent event);

/* ---- BKCL: libbkcl.so */

enum { BKCL_SUCCESS = 0, BKCL_ERROR = 1 };
typedef struct sim_context *BKCLContext_t;

int bkcl_init_rank(BKCLContext_t *context, int rank, int ranks, const void *id);
int bkcl_destroy_context(BKCLContext_t context);
int bkcl_all_reduce(BKCLContext_t context, const void *from, void *to, size_t count, int type,
		    int op, XPUStream stream);
int bkcl_broadcast(BKCLContext_t context, const void *from, void *to, size_t count, int type,
		   int root, XPUStream stream);
int bkcl_all_gather(BKCLContext_t context, const void *from, size_t count, void *to, int type,
		    XPUStream stream);
int bkcl_send(BKCLContext_t context, const void *from, size_t count, int peer, int type,
	      XPUStream stream);
int bkcl_recv(BKCLContext_t context, void *to, size_t count, int peer, int type, XPUStream stream);
int bkcl_group_start(void);
int bkcl_group_end(void);

#pragma GCC visibility pop

#endif
