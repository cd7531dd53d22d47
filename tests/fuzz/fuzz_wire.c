/* links: hk_wire */
/* Statistics files and messages made by an enemy. The first byte says how the rest is used: as a
 * whole file, as the body of a frame (its checksum is set right, or nothing behind it would ever be
 * reached), or as a request or response. */
#include <assert.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "wire/statistics.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* As statistics.c has it: magic, length, hash of what follows, kind, zero, uid. */
struct frame {
	uint32_t magic, length;
	uint64_t hash;
	uint32_t kind, reserved;
	uint8_t uid[16];
};
static_assert(sizeof(struct frame) == 40, "frame");

static char directory[] = "/tmp/hk-fuzz-wire-XXXXXX";

static void remove_directory(void)
{
	char path[64];
	snprintf(path, sizeof(path), "%s/%s", directory, HK_STATISTICS_FILE);
	unlink(path);
	rmdir(directory);
}

static void write_file(const void *head, size_t head_size, const void *body, size_t size)
{
	static bool made;
	char path[64];
	if (!made) {
		made = mkdtemp(directory) != NULL;
		if (!made) {
			abort();
		}
		atexit(remove_directory);
	}
	snprintf(path, sizeof(path), "%s/%s", directory, HK_STATISTICS_FILE);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, head, head_size) != (ssize_t)head_size ||
	    write(fd, body, size) != (ssize_t)size) {
		abort();
	}
	close(fd);
}

/* Loading never fails on a file that is there; what was cut off by opening is gone for good. */
static void load_and_append(void)
{
	Hk__Snapshot *snapshot;
	struct hk_statistics *statistics;
	if (hk_statistics_load(directory, &snapshot) == 0 && !snapshot->job) {
		abort();
	}
	hk__snapshot__free_unpacked(snapshot, NULL);
	if (hk_statistics_open(directory, &statistics) < 0) {
		abort();
	}
	uint8_t uid[16] = {1, 2, 3};
	Hk__Process process = HK__PROCESS__INIT;
	process.uid.data = uid;
	process.uid.len = sizeof(uid);
	process.records = 4711;
	if (hk_statistics_put_process(statistics, &process) < 0) {
		abort();
	}
	hk_statistics_free(statistics);
	hk_statistics_load(directory, &snapshot);
	bool found = false;
	for (size_t i = 0; i < snapshot->n_processes; i++) {
		found |= snapshot->processes[i]->records == 4711;
	}
	if (!found) {
		abort();
	}
	hk__snapshot__free_unpacked(snapshot, NULL);
}

static void try_frame(uint32_t kind, const uint8_t *data, size_t size)
{
	struct frame frame = {.magic = 0x53464b48u, .length = (uint32_t)size, .kind = kind};
	uint8_t *whole = malloc(sizeof(frame) + size);
	if (!whole) {
		return;
	}
	memcpy(whole, &frame, sizeof(frame));
	memcpy(whole + sizeof(frame), data, size);
	frame.hash = XXH3_64bits(whole + 16, sizeof(frame) - 16 + size);
	free(whole);
	write_file(&frame, sizeof(frame), data, size);
	load_and_append();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ProtobufCMessage *message;
	if (size < 1) {
		return 0;
	}
	switch (data[0] % 5) {
	case 0:
		write_file(NULL, 0, data + 1, size - 1);
		load_and_append();
		break;
	case 1:
	case 2:
		try_frame(data[0] % 5, data + 1, size - 1);
		break;
	default:
		if (hk_message_unpack(data[0] % 5 == 3 ? &hk__request__descriptor
						       : &hk__response__descriptor,
				      data + 1, size - 1, &message) == 0) {
			uint8_t *bytes;
			size_t packed;
			if (hk_message_pack(message, &bytes, &packed) == 0) {
				free(bytes);
			}
			protobuf_c_message_free_unpacked(message, NULL);
		}
		break;
	}
	return 0;
}
