/* apis.h: calls of framework APIs, timed without replacing a Python object.
 *
 * An API is a function or a method that CPython calls through a pointer to C:
 * - builtin functions with METH_VARARGS have a `vectorcall` slot, NULL, which every call asks
 * - functions written in Python have a `vectorcall` slot too
 * - method descriptors have a PyMethodDef with `ml_meth`
 * The pointer is exchanged for a stub, which knows the API by its own place in the table. All
 * functions are called with the GIL, which protects everything here. Sites of the agent are defined
 * at an API's first call, so the agent may come later than the hooks.
 */
#ifndef HK_PYTHON_APIS_H
#define HK_PYTHON_APIS_H

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent.h"

#define HK_APIS 0x2000u	   /* APIs at a time: one stub each */
#define HK_API_DOMAINS 16u /* frameworks, and others that callers name */

enum hk_api_kind { HK_API_FREE = 0, HK_API_BUILTIN, HK_API_PYTHON, HK_API_METHOD, HK_API_CLASS };

/* What an API is hooked for. Its slot is restored when nothing is left. */
enum hk_api_use { HK_API_TIMED = 1, HK_API_VALUED = 2 };

/* the words of a call, as registers pass them: (callable, args, nargsf, kwnames) of a vectorcall,
 * or the two to four arguments of ml_meth */
typedef PyObject *(*hk_api_function)(PyObject *, void *, uintptr_t, void *);

struct hk_api {
	enum hk_api_kind kind;
	unsigned int uses;    /* of enum hk_api_use */
	int role;	      /* VALUED: a number of the observer's */
	int flags;	      /* METHOD: METH_ of its definition */
	uint32_t site;	      /* of the agent, or HK_NO_SITE */
	uint32_t asked;	      /* calls without a site */
	uint32_t domain;      /* below HK_API_DOMAINS */
	uint32_t active;      /* calls that have begun and not ended */
	bool unhooked;	      /* its slot is restored; it is freed when `active` is 0 */
	hk_api_function call; /* METHOD, PYTHON: the original; else NULL */
	PyObject *object;     /* whose slot it is; owned */
	PyObject *name;	      /* "torch.add"; owned */
	PyObject *library;    /* the module; owned */
	PyObject *classes;    /* PYTHON, or NULL: {type of the first argument: index of a CLASS} */
	struct hk_api_numbers *numbers; /* of the block, or NULL before its first call there */
};

struct hk_api_settings {
	bool inside;	       /* also calls within calls of the same domain */
	bool inside_classes;   /* of those, also the ones of classes */
	PyObject *synchronize; /* or NULL: called before an API's end is taken; owned */
	PyObject *report;      /* or NULL: called with (name, seconds) after a call; owned */
	uint64_t block;	       /* number of the open block of analysis, or 0 */
};

extern struct hk_api hk_apis[HK_APIS];
extern struct hk_api_settings hk_api_settings;
extern const hk_api_function hk_api_stubs[HK_APIS];

/* What sees the values of calls of VALUED APIs. */
struct hk_api_words {
	PyObject *self;
	void *second;
	uintptr_t third;
	void *fourth;
};

struct hk_api_seen {
	uint64_t begin_ns; /* CLOCK_MONOTONIC; set after begin() */
	bool untimed;	   /* set by begin(): values do not put the call on the timeline */
};

struct hk_api_observer {
	/* A call begins. Returns what end() is given, or NULL if the end is not wanted. */
	struct hk_api_seen *(*begin)(struct hk_api *api, const struct hk_api_words *words);
	/* The call ends. RESULT is borrowed; NULL: it raised, and the exception stays. Returns 0,
	 * or -1 with an exception that the call raises in place of its result. */
	int (*end)(struct hk_api_seen *seen, PyObject *result);
};

extern const struct hk_api_observer *hk_api_observer; /* or NULL */

/* Calls of APIs by this thread are not observed while it is paused. Returns whether it was. */
bool hk_api_pause(bool paused);

/* A call of API through its stub. */
PyObject *hk_api_called(PyObject *self, void *second, uintptr_t third, void *fourth,
			struct hk_api *api);

/* Puts the stub of API into the slot of its object, or the original back. Put returns NULL, or why
 * it did not. */
const char *hk_api_slot_put(struct hk_api *api);
bool hk_api_is_hooked(PyObject *object);
void hk_api_slot_restore(struct hk_api *api);

/* The definition in C of the method or of the attribute that OBJECT describes in its class, or NULL
 * if it is another object, or the interpreter is unknown. It lives as long as the class. */
const struct PyMethodDef *hk_api_method_of(PyObject *object);
const struct PyGetSetDef *hk_api_value_of(PyObject *object);

/* Hooks OBJECT for USE, or adds USE to what it is hooked for. Returns its API, or NULL with the
 * reason, and with an exception if the reason is NULL. */
struct hk_api *hk_api_hook(PyObject *object, PyObject *name, PyObject *library, unsigned int domain,
			   enum hk_api_use use, const char **ret_reason);

/* Takes USE from all APIs. Returns how many slots are restored. */
long hk_api_unhook(enum hk_api_use use);

/* Looks at objects of its own. Returns NULL if this interpreter has the structures that slots are
 * known in, or what differs. */
const char *hk_api_layout_check(void);

/* Gives up what API owns, so that its place may be taken. */
void hk_api_free(struct hk_api *api);

/* On 3.11, where the interpreter asks the slot of a Python function only under a frame evaluator:
 * installs one that does nothing else. Elsewhere nothing. Returns whether slots are asked. */
bool hk_api_evaluator_begin(void);
void hk_api_evaluator_end(void);

/* Another evaluator was taken away: puts this one there if it is wanted. */
void hk_api_evaluator_keep(void);

#endif
