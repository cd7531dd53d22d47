/* layout.h: where the fields of activity records are, by the version of their library. */
#ifndef HK_AGENT_DEVICE_LAYOUT_H
#define HK_AGENT_DEVICE_LAYOUT_H

#include <stdint.h>

enum hk_device_class {
	HK_DEVICE_CLASS_KERNEL,
	HK_DEVICE_CLASS_COPY,
	HK_DEVICE_CLASS_SET,
	HK_DEVICE_CLASS_API, /* a call on the host */
};

/* Offsets of fields in bytes; 0: there is no such field. The first four bytes of a record are its
 * kind. */
struct hk_device_record {
	uint16_t kind;
	uint8_t class; /* enum hk_device_class */
	uint8_t correlation_bytes;
	uint16_t start, end, device, stream, correlation, name, bytes, direction, thread;
	uint16_t least; /* bytes that hold all of them */
};

#define HK_DEVICE_RECORDS 8u
struct hk_device_layout {
	uint32_t from, to; /* versions, both included */
	uint32_t count;
	struct hk_device_record records[HK_DEVICE_RECORDS];
};

/* Ends with one whose count is 0. */
extern const struct hk_device_layout hk_device_layouts_cupti[], hk_device_layouts_mspti[];

/* Returns the layout of records of KIND, or NULL if they are not read. */
const struct hk_device_record *hk_device_layout_find(const struct hk_device_layout *layout,
						     uint32_t kind);

/* Returns the name of a copy by the library's number for its direction. */
const char *hk_device_copy_name(uint32_t direction);

#endif
