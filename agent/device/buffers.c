#include "agent/device/buffers.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/memory/mapping.h"

static uint8_t *_Atomic buffers[HK_DEVICE_BUFFERS];
static _Atomic uint32_t used; /* a bit for each */

static uint8_t *make(uint32_t number)
{
	uint8_t *made = atomic_load(&buffers[number]);
	if (!made) {
		made =
		    (uint8_t *)hk_mapping_make(0, HK_DEVICE_BUFFER_BYTES, PROT_READ | PROT_WRITE);
		atomic_store(&buffers[number], made);
	} else {
		memset(made, 0, HK_DEVICE_BUFFER_BYTES);
	}
	return made;
}

uint8_t *hk_device_buffer_take(void)
{
	for (uint32_t i = 0; i < HK_DEVICE_BUFFERS; i++) {
		if (!(atomic_fetch_or(&used, 1u << i) & 1u << i)) {
			uint8_t *made = make(i);
			if (!made) {
				atomic_fetch_and(&used, ~(1u << i));
			}
			return made;
		}
	}
	return NULL;
}

bool hk_device_buffer_give(const uint8_t *buffer)
{
	for (uint32_t i = 0; buffer && i < HK_DEVICE_BUFFERS; i++) {
		if (atomic_load(&buffers[i]) == buffer) {
			atomic_fetch_and(&used, ~(1u << i));
			return true;
		}
	}
	return false;
}

void hk_device_buffers_reset(void)
{
	atomic_store(&used, 0);
}
