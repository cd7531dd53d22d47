#include "tracer_site.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent.h"
#include "beyond.h"
#include "tracer_module.h"

#define NAME_BYTES 1024
#define FILE_BYTES 1024
#define LINE_BYTES 32

/* Texts, the last of them NULL; NULL is an empty list. */
static char **prefixes, **includes, **excludes;
static char *own;
static uint32_t settings; /* their number */

static void free_list(char **list)
{
	for (char **text = list; text && *text; text++) {
		free(*text);
	}
	free(list);
}

/* Returns the texts of TUPLE, or NULL with an exception. */
static char **new_list(PyObject *tuple)
{
	Py_ssize_t count = PyTuple_Size(tuple);
	char **list = count < 0 ? NULL : calloc((size_t)count + 1, sizeof(*list));

	for (Py_ssize_t i = 0; list && i < count; i++) {
		const char *text = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(tuple, i), NULL);
		list[i] = text ? strdup(text) : NULL;
		if (!list[i]) {
			free_list(list);
			list = NULL;
		}
	}
	if (!list && !PyErr_Occurred()) {
		PyErr_NoMemory();
	}
	return list;
}

static void exchange(char ***list, char **fresh)
{
	free_list(*list);
	*list = fresh;
}

int hk_tracer_site_configure(PyObject *prefix_tuple, PyObject *include, PyObject *exclude,
			     PyObject *own_directory)
{
	PyObject *tuples[] = {prefix_tuple, include, exclude};
	char **lists[3] = {NULL};
	const char *directory = PyUnicode_AsUTF8AndSize(own_directory, NULL);
	char *copy = directory ? strdup(directory) : NULL;
	bool good = copy != NULL;

	for (size_t i = 0; good && i < 3; i++) {
		lists[i] = new_list(tuples[i]);
		good = lists[i] != NULL;
	}
	if (!good) {
		for (size_t i = 0; i < 3; i++) {
			free_list(lists[i]);
		}
		free(copy);
		return -1;
	}
	exchange(&prefixes, lists[0]);
	exchange(&includes, lists[1]);
	exchange(&excludes, lists[2]);
	free(own);
	own = copy;
	settings = (settings + 1) & 0xffffff;
	hk_tracer.plain = settings << 8 | HK_MARK_KNOWN;
	return 0;
}

static bool begins_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

const char *hk_tracer_site_trim(const char *file)
{
	for (char **prefix = prefixes; prefix && *prefix; prefix++) {
		if (begins_with(file, *prefix)) {
			return file + strlen(*prefix);
		}
	}
	return file;
}

static bool matches(char **patterns, const char *name, const char *file)
{
	const char *cut = hk_tracer_site_trim(file);

	for (char **pattern = patterns; pattern && *pattern; pattern++) {
		if (fnmatch(*pattern, name, 0) == 0 || fnmatch(*pattern, file, 0) == 0 ||
		    fnmatch(*pattern, cut, 0) == 0) {
			return true;
		}
	}
	return false;
}

static bool is_wanted(const char *name, const char *file)
{
	return !(*own && begins_with(file, own)) &&
	       (!includes || !*includes || matches(includes, name, file)) &&
	       !matches(excludes, name, file);
}

/* Writes the attribute NAME of OBJECT, a str, to BUFFER of BYTES. Returns whether it has it. */
static bool read_text(PyObject *object, const char *name, char *buffer, size_t bytes)
{
	PyObject *text = PyObject_GetAttrString(object, name);
	PyObject *encoded =
	    text ? PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace") : NULL;
	const char *from = encoded ? PyBytes_AsString(encoded) : NULL;

	if (from) {
		snprintf(buffer, bytes, "%s", from);
	}
	PyErr_Clear();
	Py_XDECREF(text);
	Py_XDECREF(encoded);
	return from != NULL;
}

/* Takes "/." and "/x/.." out of PATH, if it is absolute: a script's name has what was typed. */
static void normalize(char *path)
{
	char *to = path;

	for (const char *from = path; *path == '/' && *from;) {
		size_t length = 1 + strcspn(from + 1, "/");
		bool up = length == 3 && from[1] == '.' && from[2] == '.';
		if (up) {
			while (to > path && *--to != '/') {
			}
		} else if (length > 1 && !(length == 2 && from[1] == '.')) {
			memmove(to, from, length);
			to += length;
		}
		from += length;
	}
	if (*path == '/' && to > path) {
		*to = 0;
	}
}

static long read_number(PyObject *object, const char *name)
{
	PyObject *number = PyObject_GetAttrString(object, name);
	long value = number ? PyLong_AsLong(number) : 0;

	PyErr_Clear();
	Py_XDECREF(number);
	return value;
}

/* Returns the site of CODE, or HK_NO_SITE if it is left out or there is no room. */
static uint32_t define(PyObject *code)
{
	char name[NAME_BYTES], file[FILE_BYTES];
	char function[NAME_BYTES + FILE_BYTES + LINE_BYTES];

	if (!read_text(code, "co_filename", file, sizeof(file)) ||
	    (!read_text(code, "co_qualname", name, sizeof(name)) &&
	     !read_text(code, "co_name", name, sizeof(name)))) {
		return HK_NO_SITE;
	}
	normalize(file);
	if (!is_wanted(name, file)) {
		return HK_NO_SITE;
	}
	snprintf(function, sizeof(function), "%s (%s:%ld)", name, hk_tracer_site_trim(file),
		 read_number(code, "co_firstlineno"));
	return hk_agent.hk_site_define(
	    &(struct hk_site_text){.function = function, .library = file, .domain = "python"});
}

uint32_t hk_tracer_site_callable(PyObject *callable)
{
	char name[NAME_BYTES], module[NAME_BYTES] = "builtins";

	if (!read_text(callable, "__qualname__", name, sizeof(name))) {
		return HK_NO_SITE;
	}
	read_text(callable, "__module__", module, sizeof(module));
	if (!is_wanted(name, module)) {
		return HK_NO_SITE;
	}
	return hk_agent.hk_site_define(
	    &(struct hk_site_text){.function = name, .library = module, .domain = "python"});
}

static uint64_t make_mark(PyObject *code)
{
	enum { CO_GENERATORS = 0x20 | 0x80 | 0x200 }; /* generators, coroutines, both */
	uint32_t site = define(code);
	uint32_t flags = HK_MARK_KNOWN | (site == HK_NO_SITE ? HK_MARK_SKIP : 0);

	if (hk_tracer.version == 0x030b && (read_number(code, "co_flags") & CO_GENERATORS)) {
		flags |= HK_MARK_GENERATOR;
	}
	if (hk_tracer.modules && hk_tracer_module_is_call(code)) {
		flags |= HK_MARK_MODULE;
	}
	if (hk_tracer.parameters && hk_tracer_module_is_step(code)) {
		flags |= HK_MARK_STEP;
	}
	return (uint64_t)site << 32 | settings << 8 | flags;
}

uint64_t hk_tracer_site_ask_mark(PyObject *code)
{
	void *mark = NULL;
	int result = PyUnstable_Code_GetExtra
			 ? PyUnstable_Code_GetExtra(code, hk_tracer.extra, &mark)
			 : _PyCode_GetExtra(code, hk_tracer.extra, &mark);

	if (result < 0) {
		PyErr_Clear();
		return 0;
	}
	return (uintptr_t)mark;
}

static void set_mark(PyObject *code, uint64_t mark)
{
	void *value = (void *)(uintptr_t)mark;
	int result = PyUnstable_Code_SetExtra
			 ? PyUnstable_Code_SetExtra(code, hk_tracer.extra, value)
			 : _PyCode_SetExtra(code, hk_tracer.extra, value);

	if (result < 0) {
		PyErr_Clear();
	}
}

uint64_t hk_tracer_site_mark(PyObject *code)
{
	PyObject *type, *value, *traceback;
	uint64_t mark = hk_tracer_site_read_mark(code);

	if (hk_mark_kind(mark) >> 8 == settings && (mark & HK_MARK_KNOWN)) {
		return mark;
	}
	PyErr_Fetch(&type, &value, &traceback);
	mark = make_mark(code);
	set_mark(code, mark);
	PyErr_Restore(type, value, traceback);
	return mark;
}

/* ---- where marks are ---- */

/* Returns the offset of the only word of CODE that is 0 in BEFORE and not now, or 0. */
static size_t find_new_word(PyObject *code, const char *before, size_t bytes)
{
	size_t found = 0, count = 0;

	for (size_t at = sizeof(void *); at + sizeof(uintptr_t) <= bytes; at += sizeof(uintptr_t)) {
		uintptr_t was, is;
		memcpy(&was, before + at, sizeof(was));
		memcpy(&is, (const char *)code + at, sizeof(is));
		if (!was && is) {
			found = at;
			count++;
		}
	}
	return count == 1 ? found : 0;
}

static void find_marks(PyObject *code, size_t fixed_bytes)
{
	const uint64_t mark = 0x5ac3; /* any number */
	char *before = malloc(fixed_bytes);

	if (!before) {
		return;
	}
	memcpy(before, code, fixed_bytes);
	set_mark(code, mark);
	hk_tracer.extra_slot = sizeof(Py_ssize_t) + (size_t)hk_tracer.extra * sizeof(void *);
	hk_tracer.extra_at = find_new_word(code, before, fixed_bytes);
	if (hk_tracer.extra_at && hk_tracer_site_read_mark(code) != mark) {
		hk_tracer.extra_at = 0;
	}
	free(before);
}

int hk_tracer_site_check(PyObject *code, size_t fixed_bytes)
{
	/* A program may have several interpreters, one after the other. */
	hk_tracer.extra = PyUnstable_Eval_RequestCodeExtraIndex
			      ? PyUnstable_Eval_RequestCodeExtraIndex(NULL)
			      : _PyEval_RequestCodeExtraIndex(NULL);
	if (hk_tracer.extra < 0) {
		PyErr_SetString(PyExc_RuntimeError, "cannot trace Python functions: other tools "
						    "have all places in code objects");
		return -1;
	}
	find_marks(code, fixed_bytes);
	return 0;
}
