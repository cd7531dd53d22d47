#include "call.h"

#include <string.h>

#include "ask.h"
#include "find.h"
#include "gradient.h"
#include "modules.h"
#include "record.h"
#include "scope.h"
#include "stack.h"
#include "walk.h"

#define SILENT 2u    /* calls without a tensor, after which an API's inputs are not taken */
#define SPEAKS 0xffu /* a call returned a tensor */

/* of a thread: functions that are open */
static __thread struct {
	uint32_t depth, epoch;
} thread;

static uint8_t learned[HK_APIS]; /* calls so far without a tensor, at most SILENT; or SPEAKS */

void hk_call_reset(void)
{
	memset(learned, 0, sizeof(learned));
}

static bool is_tracing(void)
{
	PyObject *state =
	    hk_values.tracing ? PyObject_CallFunctionObjArgs(hk_values.tracing, NULL) : NULL;
	bool is = state && state != Py_None && state != Py_False;

	PyErr_Clear();
	Py_XDECREF(state);
	return is;
}

/* Takes the reference VALUE. */
static long long number_of(PyObject *value)
{
	long long number = value ? PyLong_AsLongLong(value) : 0;

	PyErr_Clear();
	Py_XDECREF(value);
	return number;
}

/* Sets TorchFunctionModes aside, which would see the methods that read a tensor. Returns what
 * unguard() is given, NULL if there is none, or Py_None if that is not possible. */
static PyObject *guard(void)
{
	PyObject *many =
	    hk_values.modes ? PyObject_CallFunctionObjArgs(hk_values.modes, NULL) : NULL;

	if (number_of(many) == 0) {
		return NULL;
	}
	PyObject *manager =
	    hk_values.guard ? PyObject_CallFunctionObjArgs(hk_values.guard, NULL) : NULL;
	PyObject *entered = manager ? hk_ask(manager, HK_NAME_ENTER) : NULL;

	PyErr_Clear();
	if (!entered) {
		Py_XDECREF(manager);
		return Py_None;
	}
	Py_DECREF(entered);
	return manager;
}

static void unguard(PyObject *manager)
{
	if (!manager || manager == Py_None) {
		return;
	}
	PyObject *done = PyObject_CallMethodObjArgs(manager, hk_name(HK_NAME_EXIT), Py_None,
						    Py_None, Py_None, NULL);

	PyErr_Clear();
	Py_XDECREF(done);
	Py_DECREF(manager);
}

/* Whether the call is a part of a second forward pass, which a backward pass makes. */
static bool is_recomputed(void)
{
	if (hk_values.backwards == 0) {
		return false;
	}
	return !hk_values.graph_task ||
	       number_of(PyObject_CallFunctionObjArgs(hk_values.graph_task, NULL)) != -1;
}

/* Whether the elements of VALUE are what its statistics are of: a call may change its inputs, also
 * where the framework's count of changes does not say so. */
static bool is_unchanged(const struct hk_value *value)
{
	struct hk_statistics now;

	return value->has_statistics && hk_record_measure(&value->view, &now) &&
	       now.digest == value->statistics.digest;
}

/* The inputs' rows. Elements are of before the call: it has not begun, or they are copies. */
static void write_inputs(const struct hk_record *record)
{
	for (size_t i = 0; i < record->inputs; i++) {
		const struct hk_value *value = &record->values[i];
		bool same = !hk_values.watching || value->scalar ||
			    value->deferred != HK_DUMP_NONE || is_unchanged(value);
		if (!same) {
			hk_values_leave(HK_LEFT_CHANGED);
		}
		hk_record_write(record, value, same);
	}
}

/* Keeps the elements of before the call, or writes them now if the call is known to have rows. */
static void save_inputs(struct hk_record *record)
{
	record->early = learned[record->place] == SPEAKS || record->is_module;
	if (record->early) {
		write_inputs(record);
		return;
	}
	for (size_t i = 0; i < record->inputs; i++) {
		hk_record_copy(&record->values[i]);
	}
}

/* Takes the inputs of the call with WORDS. SKIP: its first argument is a module. */
static void take_inputs(struct hk_record *record, const struct hk_api *api,
			const struct hk_api_words *words, bool skip)
{
	PyObject *aside = is_tracing() ? Py_None : guard();

	if (aside == Py_None) {
		hk_values_leave(is_tracing() ? HK_LEFT_TRACING : HK_LEFT_MODE);
		record->wanted = false;
		return;
	}
	record->flags = is_recomputed() ? HK_DUMP_RECOMPUTED : 0;
	record->thread = hk_values_thread();
	bool has_stack = hk_values.stacks && hk_values.writer && !hk_values.watching;

	record->stack = has_stack ? hk_stack_here() : HK_DUMP_NONE;
	record->has_inputs = learned[record->place] < SILENT || learned[record->place] == SPEAKS;
	if (record->has_inputs) {
		hk_walk_arguments(record, api, words, skip);
	}
	if (hk_values.payloads && !hk_values.watching) {
		save_inputs(record);
	}
	unguard(aside);
}

static struct hk_record *new_record(const struct hk_api *api)
{
	struct hk_record *record = hk_record_new();

	if (!record) {
		hk_values_leave(HK_LEFT_MEMORY);
		return NULL;
	}
	record->epoch = hk_values.epoch;
	record->place = (uint32_t)(api - hk_apis);
	record->stack = HK_DUMP_NONE;
	return record;
}

static struct hk_api_seen *begin_function(struct hk_api *api, const struct hk_api_words *words)
{
	if (thread.epoch != hk_values.epoch) {
		thread.epoch = hk_values.epoch;
		thread.depth = 0;
	}
	struct hk_record *record = hk_values.apis && thread.depth == 0 ? new_record(api) : NULL;

	if (!record) {
		return NULL;
	}
	thread.depth++;
	record->name = api->name;
	Py_INCREF(record->name);
	record->kind = HK_DUMP_API;
	record->number = hk_values_number(record->name);
	record->sequence = hk_values.sequence++;
	record->wanted =
	    hk_scope_wants(record->place, record->name, record->number,
			   record->sequence - hk_values.step_sequence, hk_modules_in_scope());
	if (record->wanted) {
		record->of = hk_modules_path();
		take_inputs(record, api, words, false);
	}
	return &record->seen;
}

/* How many arguments by position a call of a function in Python has. */
static Py_ssize_t count_of(const struct hk_api_words *words)
{
	return (Py_ssize_t)(words->third & (uintptr_t)PY_SSIZE_T_MAX);
}

/* The name of a module's row: its path; its class if that is empty. */
static PyObject *module_name(PyObject *path, PyObject *class)
{
	PyObject *name = path && hk_values_text(path)[0] ? path : class;

	Py_XINCREF(name);
	return name;
}

static struct hk_api_seen *begin_module(struct hk_api *api, const struct hk_api_words *words)
{
	bool has_self = count_of(words) > 0;
	struct hk_record *record = has_self ? new_record(api) : NULL;
	PyObject *module = has_self ? *(PyObject **)words->second : NULL;

	if (!record || !hk_modules_enter(module, hk_scope_is_all())) {
		if (record) {
			hk_record_free(record);
		}
		return NULL;
	}
	record->is_module = true;
	record->kind = HK_DUMP_MODULE;
	record->wanted = hk_values.modules && hk_modules_in_scope();
	if (!record->wanted) {
		return &record->seen;
	}
	PyObject *path = hk_modules_path();

	record->of = hk_modules_class(module);
	record->name = module_name(path, record->of);
	Py_XDECREF(path);
	if (!record->name) {
		record->wanted = false;
		return &record->seen;
	}
	record->number = hk_values_number(record->name);
	record->sequence = hk_values.sequence++;
	take_inputs(record, api, words, true);
	return &record->seen;
}

static struct hk_api_seen *begin_backward(struct hk_api *api)
{
	struct hk_record *record = new_record(api);

	if (!record) {
		return NULL;
	}
	record->is_backward_pass = true;
	hk_values.backwards++;
	return &record->seen;
}

/* Tells Python of a call of API, a method of OBJECT. */
static void notify(const struct hk_api *api, PyObject *object)
{
	if (!hk_values.notify) {
		return;
	}
	PyObject *done = hk_values_call(hk_values.notify, PyTuple_Pack(2, api->name, object));

	if (!done) {
		PyErr_WriteUnraisable(api->object);
	}
	Py_XDECREF(done);
}

/* Whether an optimizer's step is given a function that evaluates the model again. */
static bool has_closure(const struct hk_api_words *words)
{
	PyObject **arguments = words->second, *names = words->fourth;
	Py_ssize_t many = count_of(words), keywords = names ? PyTuple_Size(names) : 0;

	if (many > 1) {
		return PyCallable_Check(arguments[1]);
	}
	for (Py_ssize_t i = 0; i < keywords; i++) {
		if (strcmp(hk_values_text(PyTuple_GetItem(names, i)), "closure") == 0) {
			return PyCallable_Check(arguments[many + i]);
		}
	}
	return false;
}

/* The gradients of a step are there when it begins; with a closure, which makes them, when it has
 * ended. */
static struct hk_api_seen *begin_step(struct hk_api *api, const struct hk_api_words *words)
{
	if (count_of(words) == 0) {
		return NULL;
	}
	PyObject *optimizer = *(PyObject **)words->second;

	if (!has_closure(words)) {
		notify(api, optimizer);
		return NULL;
	}
	struct hk_record *record = new_record(api);

	if (!record) {
		return NULL;
	}
	record->seen.untimed = true;
	record->optimizer = optimizer;
	Py_INCREF(optimizer);
	return &record->seen;
}

static struct hk_api_seen *begin(struct hk_api *api, const struct hk_api_words *words)
{
	if (!hk_values.taking) {
		return NULL;
	}
	switch (api->role) {
	case HK_ROLE_FUNCTION:
		return begin_function(api, words);
	case HK_ROLE_MODULE:
		return begin_module(api, words);
	case HK_ROLE_BACKWARD:
		return begin_backward(api);
	case HK_ROLE_STEP:
		return begin_step(api, words);
	default:
		if (count_of(words) > 0) {
			notify(api, *(PyObject **)words->second);
		}
		return NULL;
	}
}

static void learn(const struct hk_record *record, bool found)
{
	uint8_t *known = &learned[record->place];

	if (found) {
		*known = SPEAKS;
	} else if (*known < SILENT && !record->is_module) {
		++*known;
	}
}

/* Whether one of the outputs is a tensor with a row. */
static bool has_output(const struct hk_record *record)
{
	for (size_t i = record->inputs; i < record->many; i++) {
		if (!record->values[i].scalar) {
			return true;
		}
	}
	return false;
}

static void write_all(const struct hk_record *record)
{
	if (!record->early) {
		write_inputs(record);
	}
	for (size_t i = record->inputs; i < record->many; i++) {
		hk_record_write(record, &record->values[i], true);
	}
}

/* What is to be done with the call's values when RESULT is known. Returns 0, or -1 with an
 * exception that the call is to raise. */
static int take_result(struct hk_record *record, PyObject *result)
{
	bool found = hk_walk_result(record, result);

	learn(record, found);
	if (!has_output(record)) {
		return 0;
	}
	if (!record->has_inputs) {
		hk_values_leave(HK_LEFT_FIRST);
	}
	hk_values.calls++;
	if (hk_values.backward) {
		hk_gradient_watch(record);
	}
	int find = hk_values.watching ? hk_find_check(record, HK_DUMP_FORWARD) : 1;

	if (find == 1) {
		if (hk_values.watching) {
			record->stack = hk_stack_here();
			hk_record_defer_find(record);
		}
		write_all(record);
	}
	return hk_values.watching && find ? hk_find_react() : 0;
}

static int finish(struct hk_record *record, PyObject *result)
{
	if (record->optimizer && result && hk_values.taking) {
		notify(&hk_apis[record->place], record->optimizer);
	}
	if (!record->wanted || !hk_values.taking) {
		return 0;
	}
	if (!result) {
		hk_values_leave(HK_LEFT_RAISED);
		return 0;
	}
	PyObject *aside = guard();
	int answer = aside == Py_None ? 0 : take_result(record, result);

	unguard(aside);
	return answer;
}

/* Takes back what begin() did to this thread. */
static void leave(const struct hk_record *record)
{
	if (record->is_backward_pass) {
		hk_values.backwards--;
	} else if (record->is_module) {
		hk_modules_leave();
	} else if (!record->optimizer) {
		thread.depth--;
	}
}

static int end(struct hk_api_seen *seen, PyObject *result)
{
	struct hk_record *record = (struct hk_record *)seen;
	PyObject *type, *value, *traceback;
	int answer = 0;

	PyErr_Fetch(&type, &value, &traceback);
	if (record->epoch == hk_values.epoch) {
		answer = finish(record, result);
		leave(record);
	}
	hk_record_free(record);
	if (answer == 0) {
		PyErr_Restore(type, value, traceback);
	}
	return answer;
}

const struct hk_api_observer hk_call_observer = {.begin = begin, .end = end};
