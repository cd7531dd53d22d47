/* The document's kernels: what was launched on devices. */
#include "cli/html/document.h"

static void dim_write(struct hk_json *json, const char *key, uint64_t dim)
{
	char text[HK_KERNEL_SHAPE_BYTES];

	hk_kernel_rows_dim(dim, text);
	hk_json_string(json, key, text);
}

static void row_write(const struct hk_kernel_row *row, struct hk_json *json)
{
	char name[HK_KERNEL_ROW_BYTES];

	hk_json_open(json, NULL, '{');
	hk_kernel_rows_whole(row, name);
	hk_json_string(json, "name", name);
	hk_kernel_rows_short(row, name);
	hk_json_string(json, "short", name);
	hk_json_uint(json, "launches", row->launches);
	hk_json_uint(json, "failed", row->failed);
	hk_json_uint(json, "host_ns", row->host_ns);
	if (row->device_activities > 0) {
		hk_json_uint(json, "device_ns", row->device_ns);
	} else {
		hk_json_null(json, "device_ns");
	}
	hk_json_uint(json, "ranks", row->ranks);
	hk_json_uint(json, "shapes", row->shape_count);
	if (row->shape_count > 0) {
		dim_write(json, "grid", row->shapes[0].grid);
		dim_write(json, "block", row->shapes[0].block);
	}
	hk_json_close(json, '}');
}

void hk_html_kernels_write(const struct hk_kernel_rows *rows, struct hk_json *json)
{
	hk_json_newline(json);
	hk_json_open(json, "kernels", '[');
	for (size_t i = 0; i < rows->count && i < HK_HTML_KERNELS; i++) {
		row_write(&rows->rows[i], json);
	}
	hk_json_close(json, ']');
	hk_json_uint(json, "kernel_rows", rows->count);
	hk_json_uint(json, "kernel_unrecorded", rows->unrecorded);
}
