/* library.h: the tracing libraries of devices, CUPTI and MSPTI, as one table of functions.
 *
 * Functions are found by name in the loaded library, never linked: the host's version counts. All
 * addresses belong to that library.
 */
#ifndef HK_AGENT_DEVICE_LIBRARY_H
#define HK_AGENT_DEVICE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/device/layout.h"

typedef void hk_device_requested(uint8_t **buffer, size_t *size, size_t *most_records);
/* CUPTI's has five arguments, MSPTI's the last three. */
typedef void hk_device_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
				 size_t valid);
typedef void hk_device_completed_plain(uint8_t *buffer, size_t size, size_t valid);

/* Functions by their place in the table of names. */
enum hk_device_function {
	HK_DEVICE_REGISTER,
	HK_DEVICE_ENABLE,
	HK_DEVICE_DISABLE,
	HK_DEVICE_FLUSH,
	HK_DEVICE_NEXT,
	/* may be missing */
	HK_DEVICE_VERSION,
	HK_DEVICE_TIMESTAMP,
	HK_DEVICE_DROPPED,
	HK_DEVICE_RUNTIME_CALL,
	HK_DEVICE_DRIVER_CALL,
	HK_DEVICE_FUNCTIONS,
};
#define HK_DEVICE_NEEDED HK_DEVICE_VERSION

struct hk_device_library {
	uint32_t number;      /* struct hk_device_source.library */
	const char *variable; /* names the library's file */
	const char *pattern;  /* base name of a loaded one, with * */
	const char *files[3]; /* file names to open, in this order */
	const char *functions[HK_DEVICE_FUNCTIONS];
	const struct hk_device_layout *layouts;
	bool plain; /* the function for completed buffers takes three arguments */
};

extern const struct hk_device_library hk_device_cupti, hk_device_mspti;

/* An opened library. */
struct hk_device_opened {
	const struct hk_device_library *library; /* NULL: none */
	const struct hk_device_layout *layout;
	uint32_t version;
	void *functions[HK_DEVICE_FUNCTIONS];
};

/* Finds LIBRARY among the loaded objects, or else opens it: the file that its variable in
 * ENVIRONMENT names, or one of its files. Returns 0; -EBUSY if the loaded objects cannot be read
 * now; -ENOENT if no file is found; -EPROTO if the version's records are not known. Calls the
 * loader: see README.md for when that is safe. */
int hk_device_open(const struct hk_device_library *library, char *const *environment,
		   struct hk_device_opened *ret_opened);

#endif
