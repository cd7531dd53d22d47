#include "cli/compare/array/pt.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/compare/array/pickle.h"
#include "cli/compare/array/zip.h"

#define PICKLE_BYTES_MAX (16u << 20)
#define EXPANDED_BYTES_MAX (4ull << 30) /* of a view that repeats elements of its storage */

bool hk_pt_recognises(const void *bytes, size_t size)
{
	return size >= 4 && !memcmp(bytes, "PK\3\4", 4);
}

static int entry_find(const struct hk_zip *zip, const char *name, size_t length,
		      const uint8_t **ret_bytes, size_t *ret_size,
		      char reason[HK_ARRAY_REASON_BYTES])
{
	int r = hk_zip_find(zip, name, length, ret_bytes, ret_size);

	if (r == -ENOENT) {
		return hk_array_refuse(reason, "the archive has no %.*s", (int)length, name);
	}
	if (r == -ENOTSUP) {
		return hk_array_refuse(reason, "the archive is compressed");
	}
	return r < 0 ? hk_array_refuse(reason, "the archive is damaged") : 0;
}

static int pickle_read(const struct hk_zip *zip, struct hk_pickled_tensor *tensor,
		       char reason[HK_ARRAY_REASON_BYTES])
{
	const uint8_t *bytes;
	size_t size;
	int r = entry_find(zip, "data.pkl", strlen("data.pkl"), &bytes, &size, reason);

	if (r < 0) {
		return r;
	}
	if (size > PICKLE_BYTES_MAX) {
		return hk_array_refuse(reason, "the pickle is too long for one tensor's");
	}
	return hk_pickle_parse(tensor, bytes, size, reason);
}

/* Finds the storage's bytes: the entry data/<key>. */
static int storage_find(const struct hk_zip *zip, const struct hk_pickled_tensor *tensor,
			const uint8_t **ret_bytes, size_t *ret_size,
			char reason[HK_ARRAY_REASON_BYTES])
{
	char name[64];
	int prefix = snprintf(name, sizeof(name), "data/");

	if (tensor->key_bytes > sizeof(name) - (size_t)prefix) {
		return hk_array_refuse(reason, "the storage's key is too long");
	}
	memcpy(name + prefix, tensor->key, tensor->key_bytes);
	return entry_find(zip, name, (size_t)prefix + tensor->key_bytes, ret_bytes, ret_size,
			  reason);
}

/* Whether the archive says that its storages are big-endian. */
static bool is_swapped(const struct hk_zip *zip)
{
	const uint8_t *order;
	size_t size;

	return hk_zip_find(zip, "byteorder", strlen("byteorder"), &order, &size) == 0 &&
	       size == 3 && !memcmp(order, "big", 3);
}

/* The elements of the storage up to the last one that TENSOR reaches, or UINT64_MAX. */
static uint64_t reach(const struct hk_pickled_tensor *tensor)
{
	uint64_t last = tensor->offset, step;

	for (uint32_t i = 0; i < tensor->dimensions; i++) {
		if (tensor->shape[i] == 0) {
			return 0;
		}
		if (__builtin_mul_overflow(tensor->shape[i] - 1, (uint64_t)tensor->strides[i],
					   &step) ||
		    __builtin_add_overflow(last, step, &last)) {
			return UINT64_MAX;
		}
	}
	return last == UINT64_MAX ? last : last + 1;
}

static bool is_contiguous(const struct hk_pickled_tensor *tensor)
{
	uint64_t step = 1;

	for (uint32_t i = tensor->dimensions; i-- > 0;) {
		if (tensor->shape[i] > 1 && (uint64_t)tensor->strides[i] != step) {
			return false;
		}
		step *= tensor->shape[i];
	}
	return true;
}

static int elements_take(struct hk_array *array, const struct hk_pickled_tensor *tensor,
			 const uint8_t *storage, size_t storage_bytes, bool swapped,
			 char reason[HK_ARRAY_REASON_BYTES])
{
	size_t size = hk_dtype_bytes(tensor->dtype), bytes = hk_array_measure(array);
	uint64_t last = reach(tensor);

	if (bytes == SIZE_MAX || last > storage_bytes / size) {
		return hk_array_refuse(reason, "the tensor reaches beyond its storage");
	}
	if (bytes > storage_bytes && bytes > EXPANDED_BYTES_MAX) {
		return hk_array_refuse(reason, "the tensor is a view that repeats its storage "
					       "beyond 4 GiB");
	}
	const uint8_t *first = last == 0 ? storage : storage + tensor->offset * size;
	swapped = swapped && size > 1;
	if (is_contiguous(tensor) && !swapped) {
		array->elements = first;
		return 0;
	}
	int r = hk_array_gather(array, first, tensor->strides, reason);
	if (r == 0 && swapped) {
		hk_array_swap(array);
	}
	return r;
}

int hk_pt_parse(struct hk_array *array, const void *bytes, size_t size,
		char reason[HK_ARRAY_REASON_BYTES])
{
	struct hk_pickled_tensor tensor;
	const uint8_t *storage = NULL;
	size_t storage_bytes = 0;
	struct hk_zip zip;

	*array = (struct hk_array){0};
	if (hk_zip_open(&zip, bytes, size) < 0) {
		return hk_array_refuse(reason, "the archive is cut or damaged");
	}
	int r = pickle_read(&zip, &tensor, reason);
	if (r == 0) {
		r = storage_find(&zip, &tensor, &storage, &storage_bytes, reason);
	}
	if (r < 0) {
		return r;
	}
	array->dtype = tensor.dtype;
	array->dimensions = tensor.dimensions;
	memcpy(array->shape, tensor.shape, sizeof(array->shape));
	r = elements_take(array, &tensor, storage, storage_bytes, is_swapped(&zip), reason);
	if (r < 0) {
		hk_array_free(array);
	}
	return r;
}
