#include "tensor.h"

#include <string.h>

#include "ask.h"

/* Takes the reference VALUE. Returns its number, or OTHERWISE. */
static uint64_t number_of(PyObject *value, uint64_t otherwise)
{
	uint64_t number = value ? PyLong_AsUnsignedLongLong(value) : otherwise;

	if (number == UINT64_MAX && PyErr_Occurred()) {
		PyErr_Clear();
		number = otherwise;
	}
	Py_XDECREF(value);
	return number;
}

/* Takes the reference VALUE. */
static bool is_true(PyObject *value)
{
	bool is = value == Py_True;

	Py_XDECREF(value);
	return is;
}

static enum hk_values_class ask_class(PyObject *type)
{
	PyObject *answer = hk_values_call(hk_values.classify, PyTuple_Pack(1, type));
	enum hk_values_class class = HK_CLASS_OTHER;

	if (answer) {
		class = (enum hk_values_class)PyLong_AsLong(answer);
		PyDict_SetItem(hk_values.types, type, answer);
	}
	PyErr_Clear();
	Py_XDECREF(answer);
	return class;
}

enum hk_values_class hk_tensor_class(PyObject *object)
{
	PyObject *type = (PyObject *)Py_TYPE(object);
	PyObject *known = PyDict_GetItem(hk_values.types, type); /* borrowed */

	return known ? (enum hk_values_class)PyLong_AsLong(known) : ask_class(type);
}

/* Takes the reference DTYPE. */
static enum hk_dtype dtype_of(PyObject *dtype)
{
	PyObject *known = dtype ? PyDict_GetItem(hk_values.dtypes, dtype) : NULL; /* borrowed */
	enum hk_dtype number = known ? (enum hk_dtype)PyLong_AsLong(known) : HK_DTYPE_NONE;

	if (dtype && !known) {
		PyObject *text = PyObject_Str(dtype);
		number = hk_dtype_parse(hk_values_text(text));
		PyObject *kept = PyLong_FromLong(number);
		if (kept) {
			PyDict_SetItem(hk_values.dtypes, dtype, kept);
		}
		Py_XDECREF(kept);
		Py_XDECREF(text);
	}
	PyErr_Clear();
	Py_XDECREF(dtype);
	return number;
}

/* Takes the reference SEQUENCE of numbers. Returns how many there are, or -1. */
static int numbers_of(PyObject *sequence, int64_t numbers[HK_TENSOR_DIMENSIONS])
{
	Py_ssize_t many = sequence ? PySequence_Size(sequence) : -1;

	for (Py_ssize_t i = 0; i < many && i < HK_TENSOR_DIMENSIONS; i++) {
		PyObject *item = PySequence_GetItem(sequence, i);
		numbers[i] = item ? PyLong_AsLongLong(item) : -1;
		Py_XDECREF(item);
		if (!item || (numbers[i] == -1 && PyErr_Occurred())) {
			many = -1;
		}
	}
	if (many < 0) {
		PyErr_Clear();
	}
	Py_XDECREF(sequence);
	return many > HK_TENSOR_DIMENSIONS ? -1 : (int)many;
}

/* The text of the device of TENSOR, kept until the process ends: there are few. */
static const char *device_of(PyObject *device)
{
	static PyObject *kept; /* {text: None} */
	PyObject *text = device ? PyObject_Str(device) : NULL, *key, *value;
	const char *found = "?";
	Py_ssize_t position = 0;

	kept = kept ? kept : PyDict_New();
	if (text && kept && PyDict_SetItem(kept, text, Py_None) == 0) {
		while (PyDict_Next(kept, &position, &key, &value)) {
			if (PyUnicode_Compare(key, text) == 0) {
				found = hk_values_text(key);
			}
		}
	}
	PyErr_Clear();
	Py_XDECREF(text);
	Py_XDECREF(device);
	return found;
}

/* Whether the elements of VIEW are contiguous, the last dimension fastest. */
static bool is_contiguous(const struct hk_view *view)
{
	uint64_t step = 1;

	for (uint32_t i = view->dimensions; i-- > 0;) {
		if (view->shape[i] == 0) {
			return true;
		}
		if (view->shape[i] != 1 && view->strides[i] != (int64_t)step) {
			return false;
		}
		step *= view->shape[i];
	}
	return true;
}

/* One past the last element that VIEW reaches, counted from its first one; 0: it has none. */
static uint64_t reach(const struct hk_view *view)
{
	uint64_t last = 0;

	for (uint32_t i = 0; i < view->dimensions; i++) {
		if (view->shape[i] == 0) {
			return 0;
		}
		last +=
		    (view->shape[i] - 1) * (uint64_t)(view->strides[i] > 0 ? view->strides[i] : 0);
	}
	return last + 1;
}

/* Whether the storage of TENSOR has all elements of VIEW: a program may have resized it. */
static bool is_in_storage(PyObject *tensor, const struct hk_view *view)
{
	PyObject *storage = hk_ask(tensor, HK_NAME_STORAGE);

	storage = storage ? storage : hk_ask(tensor, HK_NAME_OLD_STORAGE);
	uint64_t bytes = storage ? number_of(hk_ask(storage, HK_NAME_NBYTES), 0) : 0;

	Py_XDECREF(storage);
	return (view->offset + reach(view)) * hk_dtype_bytes(view->dtype) <= bytes;
}

static bool read_shape(PyObject *tensor, struct hk_view *view)
{
	int many = numbers_of(hk_get(tensor, HK_NAME_SHAPE), (int64_t *)view->shape);

	view->dimensions = many < 0 ? 0 : (uint32_t)many;
	return many >= 0;
}

/* ADDRESS: of the first element, or NULL where the tensor has none. Returns false if the tensor is
 * left out. An empty tensor's data is not NULL, but nothing is there. */
static bool read_memory(PyObject *tensor, PyObject *address, struct hk_view *view)
{
	PyObject *layout = hk_get(tensor, HK_NAME_LAYOUT);
	bool is_strided = layout == hk_values.strided;

	Py_XDECREF(layout);
	if (is_strided && !address) {
		hk_values_leave(HK_LEFT_WRAPPER);
		return false;
	}
	if (!is_strided || is_true(hk_ask(tensor, HK_NAME_IS_NEG)) ||
	    numbers_of(hk_ask(tensor, HK_NAME_STRIDE), view->strides) < 0) {
		hk_values_leave(HK_LEFT_LAYOUT);
		return true;
	}
	uint64_t data = PyLong_AsUnsignedLongLong(address);

	view->offset = number_of(hk_ask(tensor, HK_NAME_STORAGE_OFFSET), 0);
	view->storage = data - view->offset * hk_dtype_bytes(view->dtype);
	view->flags |= is_contiguous(view) ? 0 : HK_DUMP_NOT_CONTIGUOUS;
	if (view->dtype == HK_DTYPE_NONE) {
		hk_values_leave(HK_LEFT_DTYPE);
	} else if (reach(view) > 0 && (!data || !is_in_storage(tensor, view))) {
		hk_values_leave(HK_LEFT_FREED);
	} else {
		/* Asked last: what came before may have let another thread run, which resizes. */
		data = number_of(hk_ask(tensor, HK_NAME_DATA_PTR), 0);
		view->data = (const void *)(uintptr_t)(data ? data : 1);
	}
	return true;
}

uint64_t hk_tensor_version(PyObject *tensor)
{
	return number_of(hk_get(tensor, HK_NAME_VERSION), 0);
}

static bool view_tensor(PyObject *tensor, struct hk_view *view)
{
	view->dtype = dtype_of(hk_get(tensor, HK_NAME_DTYPE));
	if (!read_shape(tensor, view)) {
		hk_values_leave(HK_LEFT_WRAPPER);
		return false;
	}
	view->flags |= is_true(hk_get(tensor, HK_NAME_REQUIRES_GRAD)) ? HK_DUMP_REQUIRES_GRAD : 0;
	view->flags |= is_true(hk_ask(tensor, HK_NAME_IS_VIEW)) ? HK_DUMP_VIEW : 0;
	view->version = hk_tensor_version(tensor);
	view->on_device = !is_true(hk_get(tensor, HK_NAME_IS_CPU)) || hk_values.simulated;
	if (view->on_device) {
		view->device = device_of(hk_get(tensor, HK_NAME_DEVICE));
		if (strcmp(view->device, "meta") == 0) {
			hk_values_leave(HK_LEFT_WRAPPER);
			return false;
		}
		return true;
	}
	PyObject *address = hk_ask(tensor, HK_NAME_DATA_PTR);
	bool viewed = read_memory(tensor, address, view);

	Py_XDECREF(address);
	return viewed;
}

/* ---- what `read` says ---- */

static PyObject *item(PyObject *tuple, Py_ssize_t index)
{
	PyObject *found = PyTuple_GetItem(tuple, index);

	Py_XINCREF(found);
	return found;
}

static bool view_answer(PyObject *answer, struct hk_view *view)
{
	view->data = (const void *)(uintptr_t)number_of(item(answer, 0), 0);
	PyObject *text = item(answer, 1);
	int64_t strides[HK_TENSOR_DIMENSIONS];
	int many = numbers_of(item(answer, 2), (int64_t *)view->shape);
	int many_strides = numbers_of(item(answer, 3), strides);

	view->dtype = hk_dtype_parse(hk_values_text(text));
	Py_XDECREF(text);
	if (many < 0 || many != many_strides) {
		hk_values_leave(HK_LEFT_UNREADABLE);
		return false;
	}
	memcpy(view->strides, strides, (size_t)many * sizeof(strides[0]));
	view->dimensions = (uint32_t)many;
	view->device = device_of(item(answer, 4));
	view->flags |= is_true(item(answer, 5)) ? HK_DUMP_REQUIRES_GRAD : 0;
	view->flags |= is_true(item(answer, 6)) ? HK_DUMP_VIEW : 0;
	view->flags |= is_contiguous(view) ? 0 : HK_DUMP_NOT_CONTIGUOUS;
	view->storage = number_of(item(answer, 7), 0);
	view->version = number_of(item(answer, 8), 0);
	view->offset = number_of(item(answer, 9), 0);
	view->owner = item(answer, 10);
	if (view->dtype == HK_DTYPE_NONE) {
		hk_values_leave(HK_LEFT_DTYPE);
		view->data = NULL;
	}
	return true;
}

static bool view_read(PyObject *tensor, struct hk_view *view)
{
	PyObject *answer = hk_values_call(hk_values.read, PyTuple_Pack(1, tensor));
	bool is_answer = answer && PyTuple_Check(answer) && PyTuple_Size(answer) == 11;
	bool viewed = is_answer && view_answer(answer, view);

	PyErr_Clear();
	if (!is_answer) {
		hk_values_leave(answer == Py_None ? HK_LEFT_WRAPPER : HK_LEFT_UNREADABLE);
	}
	Py_XDECREF(answer);
	return viewed;
}

bool hk_tensor_view(PyObject *tensor, enum hk_values_class class, struct hk_view *view)
{
	view->data = NULL;
	view->owner = NULL;
	view->dtype = HK_DTYPE_NONE;
	view->dimensions = 0;
	view->flags = 0;
	view->on_device = false;
	view->device = "cpu";
	view->storage = view->version = view->offset = 0;
	return class == HK_CLASS_TENSOR ? view_tensor(tensor, view) : view_read(tensor, view);
}

struct hk_tensor hk_tensor_of(const struct hk_view *view)
{
	return (struct hk_tensor){.data = view->data,
				  .dtype = view->dtype,
				  .dimensions = view->dimensions,
				  .shape = view->shape,
				  .strides = view->strides};
}

bool hk_tensor_edge(PyObject *tensor, PyObject **ret_node, uint32_t *ret_output)
{
	*ret_node = NULL;
	*ret_output = 0;
	if (!is_true(hk_get(tensor, HK_NAME_REQUIRES_GRAD))) {
		return false;
	}
	*ret_node = hk_get(tensor, HK_NAME_GRAD_FN);
	if (*ret_node == Py_None) {
		Py_CLEAR(*ret_node);
	} else if (*ret_node) {
		*ret_output = (uint32_t)number_of(hk_get(tensor, HK_NAME_OUTPUT_NR), 0);
	}
	return true;
}
