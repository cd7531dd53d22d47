#include "agent/wrap/tracing.h"

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/device/share.h"
#include "agent/patch/wrapped.h"

#define ORIGINAL(which, type) ((type)atomic_load(&hk_wrapped_originals[which]))

static int register_callbacks(enum hk_wrapped which, enum hk_device_which library,
			      hk_device_requested *requested, void *completed)
{
	hk_device_share_register(library, &requested, &completed);
	return ORIGINAL(which, int (*)(hk_device_requested *, void *))(requested, completed);
}

static int register_cupti(hk_device_requested *requested, void *completed)
{
	return register_callbacks(HK_WRAPPED_CUPTI_REGISTER, HK_DEVICE_CUPTI, requested, completed);
}

static int register_mspti(hk_device_requested *requested, void *completed)
{
	return register_callbacks(HK_WRAPPED_MSPTI_REGISTER, HK_DEVICE_MSPTI, requested, completed);
}

/* The callbacks of a subscriber take other arguments: they are left alone. */
static int register_cupti_v2(void *subscriber, void *requested, void *completed)
{
	hk_device_share_apart();
	return ORIGINAL(HK_WRAPPED_CUPTI_REGISTER_V2,
			int (*)(void *, void *, void *))(subscriber, requested, completed);
}

static int stamp_cupti(uint64_t (*now)(void))
{
	hk_device_share_clock(now);
	return ORIGINAL(HK_WRAPPED_CUPTI_STAMP, int (*)(uint64_t(*)(void)))(now);
}

static int enable(enum hk_wrapped which, enum hk_device_which library, uint32_t kind)
{
	hk_device_share_enable(library, kind);
	return ORIGINAL(which, int (*)(uint32_t))(kind);
}

static int enable_cupti(uint32_t kind)
{
	return enable(HK_WRAPPED_CUPTI_ENABLE, HK_DEVICE_CUPTI, kind);
}

static int enable_mspti(uint32_t kind)
{
	return enable(HK_WRAPPED_MSPTI_ENABLE, HK_DEVICE_MSPTI, kind);
}

static int disable(enum hk_wrapped which, enum hk_device_which library, uint32_t kind)
{
	int status = ORIGINAL(which, int (*)(uint32_t))(kind);
	hk_device_share_disable(library, kind);
	return status;
}

static int disable_cupti(uint32_t kind)
{
	return disable(HK_WRAPPED_CUPTI_DISABLE, HK_DEVICE_CUPTI, kind);
}

static int disable_mspti(uint32_t kind)
{
	return disable(HK_WRAPPED_MSPTI_DISABLE, HK_DEVICE_MSPTI, kind);
}

static int flush(enum hk_wrapped which, enum hk_device_which library, uint32_t flag)
{
	int status = ORIGINAL(which, int (*)(uint32_t))(flag);
	hk_device_share_flushed(library);
	return status;
}

static int flush_cupti(uint32_t flag)
{
	return flush(HK_WRAPPED_CUPTI_FLUSH, HK_DEVICE_CUPTI, flag);
}

static int flush_mspti(uint32_t flag)
{
	return flush(HK_WRAPPED_MSPTI_FLUSH, HK_DEVICE_MSPTI, flag);
}

/* A subscription that fails changes nothing. */
static int subscribe(enum hk_wrapped which, void *subscriber, void *callback, void *data,
		     void *parameters)
{
	hk_device_share_subscribe(true);
	int status = ORIGINAL(which, int (*)(void *, void *, void *, void *))(subscriber, callback,
									      data, parameters);
	if (status != 0) {
		hk_device_share_subscribe(false);
	}
	return status;
}

static int subscribe_cupti(void *subscriber, void *callback, void *data)
{
	return subscribe(HK_WRAPPED_CUPTI_SUBSCRIBE, subscriber, callback, data, NULL);
}

static int subscribe_cupti_v2(void *subscriber, void *callback, void *data, void *parameters)
{
	return subscribe(HK_WRAPPED_CUPTI_SUBSCRIBE_V2, subscriber, callback, data, parameters);
}

static int unsubscribe_cupti(void *subscriber)
{
	int status = ORIGINAL(HK_WRAPPED_CUPTI_UNSUBSCRIBE, int (*)(void *))(subscriber);
	hk_device_share_subscribe(false);
	return status;
}

static int finalize_cupti(void)
{
	hk_device_share_finalize();
	return ORIGINAL(HK_WRAPPED_CUPTI_FINALIZE, int (*)(void))();
}

void hk_tracing_start(void)
{
	static void (*const wrappers[])(void) = {
	    (void (*)(void))register_cupti,    (void (*)(void))register_cupti_v2,
	    (void (*)(void))stamp_cupti,       (void (*)(void))enable_cupti,
	    (void (*)(void))disable_cupti,     (void (*)(void))flush_cupti,
	    (void (*)(void))subscribe_cupti,   (void (*)(void))subscribe_cupti_v2,
	    (void (*)(void))unsubscribe_cupti, (void (*)(void))finalize_cupti,
	    (void (*)(void))register_mspti,    (void (*)(void))enable_mspti,
	    (void (*)(void))disable_mspti,     (void (*)(void))flush_mspti,
	};
	static_assert(sizeof(wrappers) / sizeof(wrappers[0]) ==
			  HK_WRAPPED_COUNT - HK_WRAPPED_TRACING,
		      "one for each");
	for (int i = HK_WRAPPED_TRACING; i < HK_WRAPPED_COUNT; i++) {
		hk_wrapped_addresses[i] = (void *)wrappers[i - HK_WRAPPED_TRACING];
	}
}
