#include "session.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "python/source/beyond.h"

struct hk_values hk_values;

uint32_t hk_values_number(PyObject *name)
{
	PyObject *had = hk_values.numbers ? PyDict_GetItem(hk_values.numbers, name) : NULL;
	long number = had ? PyLong_AsLong(had) : 0;
	PyObject *more = PyLong_FromLong(number + 1);

	if (hk_values.numbers && more) {
		PyDict_SetItem(hk_values.numbers, name, more);
	}
	Py_XDECREF(more);
	PyErr_Clear();
	return (uint32_t)number;
}

const char *hk_values_text(PyObject *text)
{
	const char *read =
	    text && PyUnicode_Check(text) ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;

	if (!read) {
		PyErr_Clear();
	}
	return read ? read : "";
}

uint64_t hk_values_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t hk_values_thread(void)
{
	static __thread uint64_t thread;

	if (!thread) {
		thread = (uint64_t)syscall(SYS_gettid);
	}
	return thread;
}

PyObject *hk_values_call(PyObject *function, PyObject *arguments)
{
	PyObject *result = NULL;

	if (function && arguments) {
		Py_INCREF(function);
		result = PyObject_CallObject(function, arguments);
		Py_DECREF(function);
	}
	Py_XDECREF(arguments);
	return result;
}
