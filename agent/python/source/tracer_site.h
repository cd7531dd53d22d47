/* tracer_site.h: code objects as sites of the agent.
 *
 * A code object carries a mark among its extras, which end with it: bits 32 to 63 are its site,
 * bits 8 to 31 the number of the settings that made the mark, bits 0 to 7 flags. A mark whose low
 * half is hk_tracer.plain is of a function that is traced and has nothing special. All functions
 * need the GIL, keep a pending exception, and run no Python code.
 */
#ifndef HK_PYTHON_TRACER_SITE_H
#define HK_PYTHON_TRACER_SITE_H

#include <Python.h>
#include <stdint.h>

#include "tracer_state.h"

enum hk_mark_flag {
	HK_MARK_KNOWN = 1,
	HK_MARK_SKIP = 2,      /* left out, or the agent has no room for it */
	HK_MARK_GENERATOR = 4, /* 3.11: its first evaluation makes the generator and runs nothing */
	HK_MARK_MODULE = 8,    /* the call of a torch.nn.Module */
	HK_MARK_STEP = 16,     /* the end of a torch.optim.Optimizer's step */
};

/* Which functions are traced and how they are called. PREFIXES are cut off the names of files, the
 * first that fits. INCLUDE and EXCLUDE are patterns as of fnmatch() for names of functions and of
 * files, whole and cut; without INCLUDE all are included. OWN is the package's directory, which is
 * left out. Each is a tuple of str, but OWN. Returns 0, or -1 with an exception. */
int hk_tracer_site_configure(PyObject *prefixes, PyObject *include, PyObject *exclude,
			     PyObject *own);

/* Finds out where code objects of this build of CPython keep their extras, with CODE, which has
 * none and is FIXED_BYTES long but for its end. Returns 0, or -1 with an exception if there is no
 * place among them. */
int hk_tracer_site_check(PyObject *code, size_t fixed_bytes);

/* Returns the mark of CODE under these settings, which it makes if need be. */
uint64_t hk_tracer_site_mark(PyObject *code);

/* Returns the mark of CODE as CPython has it, 0 if there is none. */
uint64_t hk_tracer_site_ask_mark(PyObject *code);

/* The same, in a nanosecond. */
static inline uint64_t hk_tracer_site_read_mark(PyObject *code)
{
	if (HK_UNLIKELY(hk_tracer.extra_at == 0)) {
		return hk_tracer_site_ask_mark(code);
	}
	const char *extras = *(const char *const *)((const char *)code + hk_tracer.extra_at);
	if (!extras || *(const Py_ssize_t *)extras <= hk_tracer.extra) {
		return 0;
	}
	return *(const uint64_t *)(extras + hk_tracer.extra_slot);
}

/* Returns the site of CALLABLE, a function written in C, or HK_NO_SITE. */
uint32_t hk_tracer_site_callable(PyObject *callable);

/* Returns the low half of MARK. */
static inline uint32_t hk_mark_kind(uint64_t mark)
{
	return (uint32_t)mark;
}

static inline uint32_t hk_mark_site(uint64_t mark)
{
	return (uint32_t)(mark >> 32);
}

/* Returns FILE without a prefix. */
const char *hk_tracer_site_trim(const char *file);

#endif
