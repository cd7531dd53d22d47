#include <string.h>
#include <unistd.h>

#include "base/identity.h"
#include "call.h"
#include "deferred.h"
#include "modules.h"
#include "python/source/beyond.h"
#include "python/source/part.h"
#include "record.h"
#include "scope.h"
#include "stack.h"

/* the functions of hooktrace._native that hooktrace.precision is made of */

#define REASON_BYTES 512
#define DOMAIN 15 /* of APIs that are hooked for their values alone: no framework that is timed */

static void set(PyObject **place, PyObject *object)
{
	PyObject *before = *place;

	*place = object == Py_None ? NULL : object;
	Py_XINCREF(*place);
	Py_XDECREF(before);
}

/* values_functions(dict): what the framework's side of a dump is. */
static PyObject *functions(PyObject *module, PyObject *given)
{
	(void)module;
#define X(name)                                                       \
	{                                                             \
		PyObject *found = PyDict_GetItemString(given, #name); \
		set(&hk_values.name, found ? found : Py_None);        \
	}
	HK_VALUES_FUNCTIONS(X)
#undef X
	Py_RETURN_NONE;
}

static PyObject *hook(PyObject *module, PyObject *arguments)
{
	PyObject *object, *name, *library;
	const char *reason;
	int role, in_scope;

	(void)module;
	if (!PyArg_ParseTuple(arguments, "OUUip", &object, &name, &library, &role, &in_scope)) {
		return NULL;
	}
	struct hk_api *api = hk_api_hook(object, name, library, DOMAIN, HK_API_VALUED, &reason);

	if (!api) {
		return reason ? PyUnicode_FromString(reason) : NULL;
	}
	api->role = role;
	if (in_scope) {
		hk_scope_add_api((uint32_t)(api - hk_apis));
	}
	Py_RETURN_NONE;
}

static PyObject *unhook(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	return PyLong_FromLong(hk_api_unhook(HK_API_VALUED));
}

static PyObject *paths(PyObject *module, PyObject *given)
{
	(void)module;
	hk_modules_name(given == Py_None ? NULL : given);
	Py_RETURN_NONE;
}

static PyObject *scope(PyObject *module, PyObject *arguments)
{
	PyObject *list;
	int all;

	(void)module;
	if (!PyArg_ParseTuple(arguments, "pO!", &all, &PyList_Type, &list)) {
		return NULL;
	}
	hk_scope_reset(all);
	for (Py_ssize_t i = 0; i < PyList_Size(list); i++) {
		PyObject *first, *last;
		long first_number, last_number;
		if (!PyArg_ParseTuple(PyList_GetItem(list, i), "OlOl", &first, &first_number, &last,
				      &last_number) ||
		    hk_scope_add_range(first, first_number, last, last_number) < 0) {
			return NULL;
		}
	}
	Py_RETURN_NONE;
}

/* They stay when a dump ends: another thread may be about to look something up. */
static bool new_dicts(void)
{
	PyObject **dicts[] = {&hk_values.numbers, &hk_values.types, &hk_values.dtypes,
			      &hk_values.node_types};

	for (size_t i = 0; i < sizeof(dicts) / sizeof(dicts[0]); i++) {
		if (*dicts[i]) {
			PyDict_Clear(*dicts[i]);
		} else if (!(*dicts[i] = PyDict_New())) {
			return false;
		}
	}
	return true;
}

/* The words that begin() takes. */
static const struct {
	const char *word;
	bool *flag;
} words[] = {
    {"payloads", &hk_values.payloads}, {"apis", &hk_values.apis},
    {"modules", &hk_values.modules},   {"scalars", &hk_values.scalars},
    {"stacks", &hk_values.stacks},     {"backward", &hk_values.backward},
    {"watching", &hk_values.watching}, {"simulated", &hk_values.simulated},
};

static PyObject *begin(PyObject *module, PyObject *wanted)
{
	(void)module;
	if (hk_values.on) {
		PyErr_SetString(PyExc_RuntimeError, "values are taken already");
		return NULL;
	}
	if (!new_dicts()) {
		return NULL;
	}
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		PyObject *word = PyUnicode_FromString(words[i].word);
		*words[i].flag = word && PySequence_Contains(wanted, word) == 1;
		Py_XDECREF(word);
	}
	memset(hk_values.left, 0, sizeof(hk_values.left));
	hk_values.calls = hk_values.backward_calls = hk_values.offered_bytes = 0;
	hk_values.sequence = hk_values.step_sequence = 0;
	hk_values.backwards = 0;
	hk_values.loss_scaled = false;
	hk_values.epoch++;
	hk_values.on = true;
	hk_stack_reset();
	hk_call_reset();
	hk_api_observer = &hk_call_observer;
	Py_RETURN_NONE;
}

/* values_write(directory, about, rank, limit_bytes, compression) */
static PyObject *write_to(PyObject *module, PyObject *arguments)
{
	struct hk_dump_settings settings = {0};
	unsigned long long limit;
	char reason[REASON_BYTES] = "";

	(void)module;
	if (!PyArg_ParseTuple(arguments, "ssIKi", &settings.directory, &settings.about,
			      &settings.rank, &limit, &settings.compression)) {
		return NULL;
	}
	settings.limit_bytes = limit;
	if (hk_values.writer) {
		Py_RETURN_NONE;
	}
	hk_values.writer = hk_dump_writer_open(&settings, reason, sizeof(reason));
	if (!hk_values.writer) {
		PyErr_SetString(PyExc_OSError, reason);
		return NULL;
	}
	Py_RETURN_NONE;
}

/* values_step(ended, next, taking): step ENDED ends, unless it is negative. */
static PyObject *step(PyObject *module, PyObject *arguments)
{
	long long ended;
	unsigned long long next;
	int taking;

	(void)module;
	if (!PyArg_ParseTuple(arguments, "LKp", &ended, &next, &taking)) {
		return NULL;
	}
	hk_deferred_clear();
	if (ended >= 0 && hk_values.writer) {
		hk_dump_writer_step(hk_values.writer, (uint64_t)ended);
	}
	hk_values.step = next;
	hk_values.step_sequence = hk_values.sequence;
	if (hk_values.numbers) {
		PyDict_Clear(hk_values.numbers);
	}
	hk_scope_step();
	hk_values.taking = hk_values.on && taking;
	Py_RETURN_NONE;
}

static PyObject *loss_scaled(PyObject *module, PyObject *is)
{
	(void)module;
	hk_values.loss_scaled = PyObject_IsTrue(is) == 1;
	Py_RETURN_NONE;
}

static PyObject *is_loss_scaled(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	return PyBool_FromLong(hk_values.loss_scaled);
}

static void write_state(struct hk_dump_row *row, PyObject *tensor, enum hk_values_class class)
{
	struct hk_view view;

	if (!hk_tensor_view(tensor, class, &view)) {
		return;
	}
	if (!view.on_device) {
		hk_record_measure(&view, &row->statistics);
	}
	hk_record_write_row(row, &view, view.on_device ? hk_deferred_reserve(tensor) : HK_DUMP_NONE,
			    true);
	Py_XDECREF(view.owner);
}

/* values_state(phase, name, of, slot, tensor): a row of a tensor that belongs to no call. */
static PyObject *state(PyObject *module, PyObject *arguments)
{
	struct hk_dump_row row = {.kind = HK_DUMP_STATE, .stack = HK_DUMP_NONE};
	PyObject *tensor;
	int phase;

	(void)module;
	if (!PyArg_ParseTuple(arguments, "isssO", &phase, &row.name, &row.of, &row.slot, &tensor)) {
		return NULL;
	}
	enum hk_values_class class =
	    hk_values.on && hk_values.writer ? hk_tensor_class(tensor) : HK_CLASS_OTHER;

	if (class == HK_CLASS_TENSOR || class == HK_CLASS_READ) {
		bool before = hk_api_pause(true);
		row.phase = (enum hk_dump_phase)phase;
		row.step = hk_values.step;
		row.sequence = row.forward_sequence = hk_values.sequence++;
		row.thread = hk_values_thread();
		row.begin_ns = hk_values_now();
		write_state(&row, tensor, class);
		hk_api_pause(before);
	}
	Py_RETURN_NONE;
}

/* values_answer(number, count, nans, positive_infs, negative_infs, zeros, min, max, mean, l2,
 * deviation): a device's answer for a row. It has no digest. */
static PyObject *answer(PyObject *module, PyObject *arguments)
{
	struct hk_statistics statistics = {0};
	unsigned long long count, nans, positive, negative, zeros;
	unsigned int number;

	(void)module;
	if (!PyArg_ParseTuple(arguments, "IKKKKKddddd", &number, &count, &nans, &positive,
			      &negative, &zeros, &statistics.min, &statistics.max, &statistics.mean,
			      &statistics.l2, &statistics.deviation)) {
		return NULL;
	}
	statistics.count = count;
	statistics.nans = nans;
	statistics.positive_infs = positive;
	statistics.negative_infs = negative;
	statistics.zeros = zeros;
	return PyBool_FromLong(hk_deferred_write(number, &statistics));
}

/* values_elements(number, tensor): TENSOR is a copy in memory of a device's tensor. */
static PyObject *elements(PyObject *module, PyObject *arguments)
{
	unsigned int number;
	PyObject *tensor;
	bool written = false;

	(void)module;
	if (!PyArg_ParseTuple(arguments, "IO", &number, &tensor)) {
		return NULL;
	}
	bool before = hk_api_pause(true), simulated = hk_values.simulated;
	struct hk_view view;

	hk_values.simulated = false;
	if (hk_tensor_view(tensor, HK_CLASS_TENSOR, &view) && view.data) {
		struct hk_tensor copy = hk_tensor_of(&view);
		written = hk_deferred_write_elements(number, &copy);
	}
	hk_values.simulated = simulated;
	hk_api_pause(before);
	return PyBool_FromLong(written);
}

/* Adds NUMBER as NAME to DICT, if it is not 0. */
static void put(PyObject *dict, const char *name, uint64_t number)
{
	PyObject *value = number ? PyLong_FromUnsignedLongLong(number) : NULL;

	if (value) {
		PyDict_SetItemString(dict, name, value);
	}
	Py_XDECREF(value);
}

static void put_writer(PyObject *dict, PyObject *left, const struct hk_dump_counts *counts)
{
	static const char *const texts[HK_DUMP_REASONS] = {
	    [HK_DUMP_LEFT_LIMIT] = "beyond the limit of the disk",
	    [HK_DUMP_LEFT_DISK] = "after a write that failed",
	    [HK_DUMP_LEFT_SLOW] = "because the disk took nothing for seconds",
	    [HK_DUMP_LEFT_MEMORY] = "without memory for a copy",
	    [HK_DUMP_LEFT_FORK] = "in a forked process",
	    [HK_DUMP_LEFT_UNKNOWN] = "of unknown dtypes",
	};

	put(dict, "rows", counts->rows);
	put(dict, "payloads", counts->payloads);
	put(dict, "duplicates", counts->duplicates);
	put(dict, "bytes", counts->bytes);
	put(dict, "wait_ns", counts->wait_ns);
	put(dict, "error", (uint64_t)counts->error);
	for (int i = 0; i < HK_DUMP_REASONS; i++) {
		char name[96];
		PyOS_snprintf(name, sizeof(name), "rows %s", texts[i]);
		put(left, name, counts->rows_left[i]);
		PyOS_snprintf(name, sizeof(name), "elements %s", texts[i]);
		put(left, name, counts->payloads_left[i]);
	}
}

static PyObject *counts_of(const struct hk_dump_counts *written)
{
	static const char *const texts[] = {
#define X(name, text) text,
	    HK_VALUES_REASONS(X)
#undef X
	};
	PyObject *dict = PyDict_New(), *left = PyDict_New();

	if (!dict || !left || PyDict_SetItemString(dict, "left_out", left) < 0) {
		Py_XDECREF(dict);
		Py_XDECREF(left);
		return NULL;
	}
	put(dict, "calls", hk_values.calls);
	put(dict, "backward_calls", hk_values.backward_calls);
	put(dict, "offered_bytes", hk_values.offered_bytes);
	put_writer(dict, left, written);
	for (int i = 0; i < HK_VALUES_REASONS_MANY; i++) {
		put(left, texts[i], hk_values.left[i]);
	}
	Py_DECREF(left);
	return dict;
}

static PyObject *counts(PyObject *module, PyObject *unused)
{
	struct hk_dump_counts written = {0};

	(void)module;
	(void)unused;
	if (hk_values.writer) {
		written = hk_dump_writer_counts(hk_values.writer);
	}
	return counts_of(&written);
}

static PyObject *end(PyObject *module, PyObject *unused)
{
	struct hk_dump_counts written = {0};
	struct hk_dump_writer *writer = hk_values.writer;

	(void)module;
	(void)unused;
	hk_values.taking = false;
	hk_values.on = false;
	hk_values.epoch++;
	hk_api_observer = NULL;
	hk_deferred_clear();
	hk_values.writer = NULL;
	if (writer) {
		Py_BEGIN_ALLOW_THREADS;
		hk_dump_writer_close(writer, &written);
		Py_END_ALLOW_THREADS;
	}
	PyObject *result = counts_of(&written);

	hk_modules_name(NULL);
	hk_stack_reset();
	return result;
}

/* values_pause(paused): calls of this thread are not observed while it is; whether it was. */
static PyObject *pause_calls(PyObject *module, PyObject *paused)
{
	(void)module;
	return PyBool_FromLong(hk_api_pause(PyObject_IsTrue(paused) == 1));
}

/* values_identity(): (rank, world size, job), -1 and "" where unknown. */
static PyObject *identity(PyObject *module, PyObject *unused)
{
	struct hk_identity found;

	(void)module;
	(void)unused;
	hk_identity_read(environ, &found);
	return Py_BuildValue("(iis)", (int)found.rank, (int)found.world_size, found.job);
}

static PyMethodDef methods[] = {
    {"values_identity", identity, METH_NOARGS, "values_identity(): (rank, world size, job)"},
    {"values_pause", pause_calls, METH_O, "values_pause(paused): whether this thread was"},
    {"values_functions", functions, METH_O, "values_functions(dict): the framework's functions"},
    {"values_hook", hook, METH_VARARGS,
     "values_hook(function, name, library, role, in_scope): None, or why it is not hooked"},
    {"values_unhook", unhook, METH_NOARGS, "values_unhook(): restores the slots; their number"},
    {"values_paths", paths, METH_O, "values_paths({address: (path, in scope)}): names modules"},
    {"values_scope", scope, METH_VARARGS,
     "values_scope(all, [(first, number, last, number)]): which calls are wanted"},
    {"values_begin", begin, METH_O, "values_begin(words): values are taken from the next step on"},
    {"values_write", write_to, METH_VARARGS,
     "values_write(directory, about, rank, limit_bytes, compression): opens this process's file"},
    {"values_step", step, METH_VARARGS, "values_step(ended, next, taking)"},
    {"values_loss_scaled", loss_scaled, METH_O, "values_loss_scaled(whether gradients are)"},
    {"values_is_loss_scaled", is_loss_scaled, METH_NOARGS, "values_is_loss_scaled()"},
    {"values_state", state, METH_VARARGS, "values_state(phase, name, of, slot, tensor)"},
    {"values_answer", answer, METH_VARARGS,
     "values_answer(number, count, nans, +infs, -infs, zeros, min, max, mean, l2, deviation)"},
    {"values_elements", elements, METH_VARARGS, "values_elements(number, copy of the tensor)"},
    {"values_counts", counts, METH_NOARGS, "values_counts(): what was taken and left out"},
    {"values_end", end, METH_NOARGS, "values_end(): closes the file; values_counts() of it"},
    {NULL, NULL, 0, NULL},
};

int hk_values_add(PyObject *module)
{
	return PyModule_AddFunctions(module, methods);
}
