#include "text/demangle.h"

#include <libiberty/demangle.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#define SHORT_BYTES 1024u	       /* shorter names need less than 512 KiB of stack */
#define STACK_BYTES ((size_t)64 << 20) /* each byte of a name may take a level of the parser */

struct demangling {
	const char *name;
	char *text;
	size_t size, used;
	int options;
	bool mangled;
	jmp_buf full;
};

/* The demanglers pass their output in pieces. A crafted name has no end. */
static void add_piece(const char *piece, size_t length, void *data)
{
	struct demangling *to = data;

	for (size_t i = 0; i < length; i++) {
		if (to->used + 1 >= to->size) {
			longjmp(to->full, 1);
		}
		to->text[to->used++] = piece[i];
	}
}

static void demangle(struct demangling *to)
{
	to->mangled = true;
	if (setjmp(to->full) != 0) {
		return; /* the text is full */
	}
	/* Names of Rust's first scheme are names of C++ too, with a hash at their end. */
	if (rust_demangle_callback(to->name, to->options, add_piece, to)) {
		return;
	}
	to->used = 0;
	if (!cplus_demangle_v3_callback(to->name, to->options, add_piece, to)) {
		to->mangled = false;
	}
}

static void *run(void *data)
{
	demangle(data);
	return NULL;
}

/* Demangles on a stack that is deep enough for any name. */
static void demangle_deep(struct demangling *to)
{
	pthread_attr_t attributes;
	pthread_t thread;

	if (pthread_attr_init(&attributes) != 0) {
		return;
	}
	if (pthread_attr_setstacksize(&attributes, STACK_BYTES) == 0 &&
	    pthread_create(&thread, &attributes, run, to) == 0) {
		pthread_join(thread, NULL);
	}
	pthread_attr_destroy(&attributes);
}

static bool demangle_as(const char *name, int options, char *text, size_t size)
{
	/* By itself the library takes names of up to 1,023 bytes. */
	struct demangling to = {.name = name,
				.text = text,
				.size = size,
				.options = options | DMGL_ANSI | DMGL_NO_RECURSE_LIMIT};
	size_t length = strnlen(name, HK_DEMANGLE_NAME_BYTES);
	bool wanted = strncmp(name, "_Z", 2) == 0 || strncmp(name, "_R", 2) == 0;

	if (wanted && length < SHORT_BYTES) {
		demangle(&to);
	} else if (wanted && length < HK_DEMANGLE_NAME_BYTES) {
		demangle_deep(&to);
	}
	if (to.mangled) {
		text[to.used] = '\0';
	} else {
		snprintf(text, size, "%s", name);
	}
	return to.mangled;
}

bool hk_demangle(const char *name, char *text, size_t size)
{
	return demangle_as(name, DMGL_PARAMS, text, size);
}

bool hk_demangle_short(const char *name, char *text, size_t size)
{
	return demangle_as(name, 0, text, size);
}
