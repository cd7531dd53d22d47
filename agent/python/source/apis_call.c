#include <stdlib.h>
#include <time.h>

#include "apis.h"
#include "apis_numbers.h"
#include "beyond.h"

struct hk_api_settings hk_api_settings;
const struct hk_api_observer *hk_api_observer;

/* of a thread: calls that are open, by domain, and whether it is in a function of hooktrace's */
struct thread {
	uint32_t depth[HK_API_DOMAINS];
	bool paused;
};

static __thread struct thread thread;

/* A call that is observed, on the C stack of the call. */
struct observed {
	struct hk_open open;
	struct hk_api *api;
	struct thread *thread;
	uint64_t block, start_ns;
	bool entered;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Asks at an API's 1st, 2nd, 4th, 8th ... call, until the process is traced. */
static void define_site(struct hk_api *api)
{
	api->asked++;
	if (api->asked & (api->asked - 1)) {
		return;
	}
	struct hk_site_text text = {
	    .function = PyUnicode_AsUTF8AndSize(api->name, NULL),
	    .library = PyUnicode_AsUTF8AndSize(api->library, NULL),
	};
	char domain[16] = "";

	/* The domain is the name up to its first dot: "torch". */
	for (size_t i = 0; text.function && i < sizeof(domain) - 1; i++) {
		if (text.function[i] == '.' || text.function[i] == '\0') {
			break;
		}
		domain[i] = text.function[i];
	}
	text.domain = domain;
	api->site = text.function && text.library ? hk_agent.hk_site_define(&text) : HK_NO_SITE;
}

/* The API of a call through a function that many classes share: that of the first argument's class,
 * or of its nearest base that has one, or NULL. */
static struct hk_api *class_api(struct hk_api *api, void *arguments, uintptr_t count)
{
	if (!(count & (uintptr_t)PY_SSIZE_T_MAX)) {
		return NULL;
	}
	PyObject *type = (PyObject *)Py_TYPE(*(PyObject **)arguments);
	PyObject *found = PyDict_GetItem(api->classes, type);

	if (!found) {
		PyObject *bases = PyObject_GetAttrString(type, "__mro__");
		Py_ssize_t many = bases ? PyTuple_Size(bases) : 0;

		for (Py_ssize_t i = 1; i < many && !found; i++) {
			found = PyDict_GetItem(api->classes, PyTuple_GetItem(bases, i));
		}
		Py_XDECREF(bases);
	}
	return found ? &hk_apis[PyLong_AsLong(found)] : NULL;
}

/* Returns whether the call is to be timed, and begins it then. HAS_VALUES: it is in any case if
 * there is an agent. */
static bool begin(struct observed *call, struct hk_api *api, bool has_values)
{
	const struct hk_api_settings *settings = &hk_api_settings;
	struct thread *mine = &thread;
	bool agent = hk_agent.hk_enter && hk_agent.hk_site_define;
	bool inside = settings->inside && (settings->inside_classes || api->kind != HK_API_CLASS);

	bool wanted = (api->uses & HK_API_TIMED) && (!mine->depth[api->domain] || inside) &&
		      (agent || settings->block || settings->report);

	if (mine->paused || !(wanted || (has_values && agent))) {
		return false;
	}
	if (agent && api->site == HK_NO_SITE) {
		define_site(api);
	}
	mine->depth[api->domain]++;
	api->active++;
	call->api = api;
	call->thread = mine;
	call->block = settings->block;
	call->entered = agent && api->site != HK_NO_SITE;
	call->start_ns = call->block || settings->report ? now_ns() : 0;
	if (call->entered) {
		hk_agent.hk_enter(&call->open, api->site);
	}
	return true;
}

/* Calls FUNCTION, in which no API is observed; RESULT is given up if it raises. */
static PyObject *aside(struct observed *call, PyObject *result, PyObject *function,
		       PyObject *arguments)
{
	Py_INCREF(function);
	call->thread->paused = true;
	PyObject *answer = PyObject_CallObject(function, arguments);
	call->thread->paused = false;
	Py_DECREF(function);
	if (!answer) {
		Py_DECREF(result);
		return NULL;
	}
	Py_DECREF(answer);
	return result;
}

static PyObject *report(struct observed *call, PyObject *result, uint64_t ns)
{
	PyObject *arguments = Py_BuildValue("(Od)", call->api->name, (double)ns / 1e9);

	if (!arguments) {
		Py_DECREF(result);
		return NULL;
	}
	result = aside(call, result, hk_api_settings.report, arguments);
	Py_DECREF(arguments);
	return result;
}

static PyObject *end(struct observed *call, PyObject *result)
{
	struct hk_api *api = call->api;

	if (result && hk_api_settings.synchronize) {
		result = aside(call, result, hk_api_settings.synchronize, NULL);
	}
	uint64_t ns = call->start_ns ? now_ns() - call->start_ns : 0;

	if (call->entered) {
		hk_agent.hk_leave(&call->open, !result);
	}
	if (call->block && call->block == hk_api_settings.block) {
		hk_api_numbers_add(&api->numbers, ns, !result);
	}
	if (result && call->start_ns && hk_api_settings.report) {
		result = report(call, result, ns);
	}
	call->thread->depth[api->domain]--;
	if (--api->active == 0 && api->unhooked) {
		hk_api_free(api);
	}
	return result;
}

/* What CPython does with a builtin function that has no vectorcall. */
static PyObject *call_builtin(PyObject *function, PyObject *const *arguments, uintptr_t count_flags,
			      PyObject *names)
{
	Py_ssize_t count = (Py_ssize_t)(count_flags & (uintptr_t)PY_SSIZE_T_MAX);

	if (!PyInterpreterState_Get) { /* 3.8 */
		return hk_make_call_of_3_8(function, arguments, count, names);
	}
	return _PyObject_MakeTpCall(PyThreadState_Get(), function, arguments, count, names);
}

static PyObject *original(struct hk_api *api, PyObject *self, void *second, uintptr_t third,
			  void *fourth)
{
	return api->kind == HK_API_BUILTIN ? call_builtin(self, second, third, fourth)
					   : api->call(self, second, third, fourth);
}

bool hk_api_pause(bool paused)
{
	bool before = thread.paused;

	thread.paused = paused;
	return before;
}

static struct hk_api_seen *begin_values(struct hk_api *api, const struct hk_api_words *words)
{
	if (thread.paused || !(api->uses & HK_API_VALUED)) {
		return NULL;
	}
	thread.paused = true;
	struct hk_api_seen *seen = hk_api_observer->begin(api, words);
	thread.paused = false;
	if (seen) {
		seen->begin_ns = now_ns();
	}
	return seen;
}

/* Returns RESULT, or gives it up and returns NULL if the observer raises. */
static PyObject *end_values(const struct hk_api_observer *observer, struct hk_api_seen *seen,
			    PyObject *result)
{
	bool before = hk_api_pause(true);

	if (observer->end(seen, result) < 0) {
		Py_CLEAR(result);
	}
	hk_api_pause(before);
	return result;
}

static PyObject *call_timed(PyObject *self, void *second, uintptr_t third, void *fourth,
			    struct hk_api *api, bool has_values)
{
	struct hk_api *named = api->classes ? class_api(api, second, third) : api;
	struct observed call;

	if (!named || !begin(&call, named, has_values)) {
		return original(api, self, second, third, fourth);
	}
	return end(&call, original(api, self, second, third, fourth));
}

/* A call whose values may be wanted. */
static __attribute__((noinline)) PyObject *
call_observed(PyObject *self, void *second, uintptr_t third, void *fourth, struct hk_api *api)
{
	struct hk_api_words words = {self, second, third, fourth};
	const struct hk_api_observer *observer = hk_api_observer;
	struct hk_api_seen *seen = begin_values(api, &words);
	PyObject *result = call_timed(self, second, third, fourth, api, seen && !seen->untimed);

	return seen ? end_values(observer, seen, result) : result;
}

PyObject *hk_api_called(PyObject *self, void *second, uintptr_t third, void *fourth,
			struct hk_api *api)
{
	if (__builtin_expect(hk_api_observer != NULL, 0)) {
		return call_observed(self, second, third, fourth, api);
	}
	return call_timed(self, second, third, fourth, api, false);
}

void hk_api_free(struct hk_api *api)
{
	Py_CLEAR(api->object);
	Py_CLEAR(api->name);
	Py_CLEAR(api->library);
	Py_CLEAR(api->classes);
	free(api->numbers);
	*api = (struct hk_api){.kind = HK_API_FREE};
}
