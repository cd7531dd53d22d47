#include "scope.h"

#include <string.h>

#include "python/source/apis.h"

#define RANGES_MAX 64u

struct range {
	PyObject *first, *last; /* None: the numbers count all calls */
	long first_number, last_number;
	bool open;
};

static struct range ranges[RANGES_MAX];
static uint32_t many_ranges;
static bool everything;
static uint8_t by_name[HK_APIS];

void hk_scope_reset(bool all)
{
	for (uint32_t i = 0; i < many_ranges; i++) {
		Py_CLEAR(ranges[i].first);
		Py_CLEAR(ranges[i].last);
	}
	many_ranges = 0;
	everything = all;
	memset(by_name, 0, sizeof(by_name));
}

bool hk_scope_is_all(void)
{
	return everything;
}

void hk_scope_add_api(uint32_t place)
{
	by_name[place] = 1;
}

int hk_scope_add_range(PyObject *first, long first_number, PyObject *last, long last_number)
{
	if (many_ranges == RANGES_MAX) {
		PyErr_SetString(PyExc_ValueError, "too many ranges: expected at most 64");
		return -1;
	}
	Py_INCREF(first);
	Py_INCREF(last);
	ranges[many_ranges++] = (struct range){first, last, first_number, last_number, false};
	return 0;
}

void hk_scope_step(void)
{
	for (uint32_t i = 0; i < many_ranges; i++) {
		ranges[i].open = false;
	}
}

static bool is_call(PyObject *wanted, long wanted_number, PyObject *name, uint32_t number,
		    uint64_t in_step)
{
	if (wanted == Py_None) {
		return (uint64_t)wanted_number == in_step;
	}
	return (wanted_number < 0 || (uint32_t)wanted_number == number) &&
	       PyUnicode_Compare(wanted, name) == 0;
}

static bool is_in_range(struct range *range, PyObject *name, uint32_t number, uint64_t in_step)
{
	range->open =
	    range->open || is_call(range->first, range->first_number, name, number, in_step);
	bool in = range->open;

	if (in && is_call(range->last, range->last_number, name, number, in_step)) {
		range->open = false;
	}
	return in;
}

bool hk_scope_wants(uint32_t place, PyObject *name, uint32_t number, uint64_t in_step,
		    bool in_module)
{
	bool wanted = everything || in_module || by_name[place];

	for (uint32_t i = 0; i < many_ranges; i++) {
		wanted = is_in_range(&ranges[i], name, number, in_step) || wanted;
	}
	return wanted;
}
