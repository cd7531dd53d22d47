#include "find.h"

#include <math.h>
#include <stdlib.h>

#define LARGEST_F16 65504.0
#define LARGEST_BF16 3.3895313892515355e38

/* The largest finite number of DTYPE; infinity where reaching it says nothing. */
static double largest(enum hk_dtype dtype)
{
	switch (dtype) {
	case HK_DTYPE_F16:
		return LARGEST_F16;
	case HK_DTYPE_BF16:
		return LARGEST_BF16;
	default:
		return HUGE_VAL;
	}
}

/* Whether VALUE has NaN, Inf, or what an overflow that saturates leaves. */
static bool is_bad(const struct hk_value *value)
{
	const struct hk_statistics *statistics = &value->statistics;
	double most = largest(value->view.dtype);

	if (value->scalar || !value->has_statistics) {
		return false;
	}
	return statistics->nans || statistics->positive_infs || statistics->negative_infs ||
	       statistics->max >= most || statistics->min <= -most;
}

/* Whether VALUE is a number that the program itself gives, as masks of attention do. */
static bool is_given(const struct hk_value *value)
{
	char *end = NULL;
	double number = value->scalar ? strtod(value->scalar, &end) : 0;

	return end && end != value->scalar && !*end &&
	       (!isfinite(number) || fabs(number) == LARGEST_F16 || fabs(number) == LARGEST_BF16);
}

static PyObject *bad_slots(const struct hk_record *record, size_t begin, size_t end)
{
	PyObject *slots = PyList_New(0);

	for (size_t i = begin; slots && i < end; i++) {
		const struct hk_value *value = &record->values[i];
		PyObject *slot = is_bad(value) || (i < record->inputs && is_given(value))
				     ? PyUnicode_FromString(value->slot)
				     : NULL;
		if (slot && PyList_Append(slots, slot) < 0) {
			Py_CLEAR(slots);
		}
		Py_XDECREF(slot);
	}
	return slots;
}

int hk_find_check(const struct hk_record *record, enum hk_dump_phase phase)
{
	size_t bad = record->inputs;

	while (bad < record->many && !is_bad(&record->values[bad])) {
		bad++;
	}
	if (bad == record->many || !hk_values.found) {
		return 0;
	}
	PyObject *outputs = bad_slots(record, record->inputs, record->many);
	PyObject *inputs = outputs ? bad_slots(record, 0, record->inputs) : NULL;
	PyObject *answer =
	    inputs ? hk_values_call(hk_values.found,
				    Py_BuildValue("(OOIiOO)", record->name, record->of,
						  record->number, (int)phase, inputs, outputs))
		   : NULL;
	int found = !answer || answer == Py_None ? 0 : answer == Py_True ? 1 : 2;

	if (!answer) {
		PyErr_WriteUnraisable(record->name);
	}

	Py_XDECREF(outputs);
	Py_XDECREF(inputs);
	Py_XDECREF(answer);
	return found;
}

int hk_find_react(void)
{
	if (!hk_values.react) {
		return 0;
	}
	PyObject *answer = hk_values_call(hk_values.react, PyTuple_New(0));

	Py_XDECREF(answer);
	return answer ? 0 : -1;
}
