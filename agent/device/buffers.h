/* buffers.h: the buffers that a device's library fills with records: a fixed number, made when
 * first needed and used again. Any thread; no lock, no malloc. */
#ifndef HK_AGENT_DEVICE_BUFFERS_H
#define HK_AGENT_DEVICE_BUFFERS_H

#include <stdbool.h>
#include <stdint.h>

#define HK_DEVICE_BUFFERS 16u
#define HK_DEVICE_BUFFER_BYTES (512u << 10)

/* Returns a buffer of HK_DEVICE_BUFFER_BYTES zeros, or NULL if all are in use. */
uint8_t *hk_device_buffer_take(void);

/* Gives BUFFER back. Returns false if BUFFER is not from this module. */
bool hk_device_buffer_give(const uint8_t *buffer);

/* Forgets which are in use: the library that had them is gone. */
void hk_device_buffers_reset(void);

#endif
