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

/* Takes what is_bad() needs of VALUE on a device, which is waited for. */
static void look(struct hk_value *value)
{
	struct hk_statistics *statistics = &value->statistics;
	PyObject *answer;

	if (value->scalar || !value->view.on_device || value->has_statistics) {
		return;
	}
	answer = hk_values_call(hk_values.look, Py_BuildValue("(O)", value->tensor));
	*statistics = (struct hk_statistics){0};
	value->has_statistics = answer && PyTuple_Check(answer) &&
				PyArg_ParseTuple(answer, "dd", &statistics->min, &statistics->max);
	if (!value->has_statistics) {
		hk_values_leave(HK_LEFT_DEVICE);
	}
	statistics->nans = isnan(statistics->min) || isnan(statistics->max);
	PyErr_Clear();
	Py_XDECREF(answer);
}

/* Inputs on a device are looked at behind the call: one that it changed is not known. */
static void look_at_inputs(struct hk_record *record)
{
	for (size_t i = 0; i < record->inputs; i++) {
		if (!hk_record_is_changed(record, &record->values[i])) {
			look(&record->values[i]);
		}
	}
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

int hk_find_check(struct hk_record *record, enum hk_dump_phase phase)
{
	bool bad = false;

	for (size_t i = record->inputs; i < record->many; i++) {
		look(&record->values[i]);
		bad = bad || is_bad(&record->values[i]);
	}
	if (!bad || !hk_values.found) {
		return 0;
	}
	look_at_inputs(record);
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
