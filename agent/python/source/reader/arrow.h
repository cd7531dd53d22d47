/* arrow.h: the structures of the Arrow C data interface, by which libraries pass columns to each
 * other without a copy: https://arrow.apache.org/docs/format/CDataInterface.html. Plain layouts, no
 * code. */
#ifndef HK_READER_ARROW_H
#define HK_READER_ARROW_H

#include <stdint.h>

#define ARROW_FLAG_NULLABLE 2

struct ArrowSchema {
	const char *format, *name, *metadata;
	int64_t flags, n_children;
	struct ArrowSchema **children, *dictionary;
	void (*release)(struct ArrowSchema *schema); /* NULL: released, or moved to another place */
	void *private_data;
};

struct ArrowArray {
	int64_t length, null_count, offset, n_buffers, n_children;
	const void **buffers;
	struct ArrowArray **children, *dictionary;
	void (*release)(struct ArrowArray *array);
	void *private_data;
};

/* get_schema and get_next return 0 or a positive errno; get_next gives a released array at the end.
 */
struct ArrowArrayStream {
	int (*get_schema)(struct ArrowArrayStream *stream, struct ArrowSchema *ret_schema);
	int (*get_next)(struct ArrowArrayStream *stream, struct ArrowArray *ret_array);
	const char *(*get_last_error)(struct ArrowArrayStream *stream);
	void (*release)(struct ArrowArrayStream *stream);
	void *private_data;
};

#endif
