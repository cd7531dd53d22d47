/* reader.h: reads records of a device's library, joins each piece of work with the call that
 * submitted it, and hands it on.
 *
 * A record of work and the record of its call have the same correlation number, and come in any
 * order and in different buffers. Work waits, in bounded memory, until its call is known and has
 * returned. Work of a call that no hook saw waits for two turns. All functions take the reader's
 * own lock, which no foreign code is called under but the library's walk over a buffer and its
 * clock.
 */
#ifndef HK_AGENT_DEVICE_READER_H
#define HK_AGENT_DEVICE_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/device/library.h"
#include "agent/device/work.h"

/* Makes the memory, and hands work on to FEED. Returns false without memory. */
bool hk_device_reader_begin(void (*feed)(const struct hk_device_work *work));

/* From now on records are of OPENED, with times of clock NOW, which
 * counts nanoseconds or not. */
void hk_device_reader_use(const struct hk_device_opened *opened, uint64_t (*now)(void),
			  bool counts_ns);

/* Reads the VALID bytes of records in BUFFER, which keeps its owner. Returns false, and counts its
 * records as skipped, if another thread has the lock for too long. */
bool hk_device_reader_read(uint8_t *buffer, size_t valid);

/* The next turn: a flush is over. Hands on the work of calls that no hook saw, and with ALL all
 * work that waits. */
void hk_device_reader_turn(bool all);

#endif
