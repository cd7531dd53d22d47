/* An NVTX injection library of another tool: counts what it is given, and checks that handles and
 * numbers of ranges are its own. Prints the counts at exit. */
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef void function(void);
struct callbacks {
	size_t bytes;
	int (*module)(int module, function ****table, unsigned *size);
};

static _Atomic unsigned pushes, pops, marks, starts, ends, domain_pushes, wrong;
static char a_domain, a_string;

static int push(const char *text)
{
	wrong += !text;
	return (int)pushes++;
}

static int pop(void)
{
	return (int)pops++;
}

static void mark(const char *text)
{
	wrong += !text;
	marks++;
}

static uint64_t start(const char *text)
{
	wrong += !text;
	return 7000 + starts++;
}

static void end(uint64_t number)
{
	wrong += number < 7000 || number >= 7000 + starts;
	ends++;
}

static void *create(const char *text)
{
	wrong += !text;
	return &a_domain;
}

static void *registered(void *domain, const char *text)
{
	wrong += domain != &a_domain || !text;
	return &a_string;
}

static int domain_push(void *domain, const uint64_t *event)
{
	int type = (int)event[4];

	wrong += domain != &a_domain || (type == 3 && event[5] != (uint64_t)(uintptr_t)&a_string);
	return (int)domain_pushes++;
}

static void report(void)
{
	printf("{\"pushes\": %u, \"pops\": %u, \"marks\": %u, \"starts\": %u, \"ends\": %u, "
	       "\"domain_pushes\": %u, \"wrong\": %u}\n",
	       pushes, pops, marks, starts, ends, domain_pushes, wrong);
}

static void set(const struct callbacks *callbacks, int module, unsigned id, void *to)
{
	function ***table;
	unsigned size;

	if (callbacks->module(module, &table, &size) == 1 && id < size && table[id]) {
		*table[id] = (function *)to;
	}
}

int InitializeInjectionNvtx2(const void *(*get_table)(uint32_t))
{
	const struct callbacks *callbacks = get_table(1);

	set(callbacks, 1, 2, (void *)mark);
	set(callbacks, 1, 5, (void *)start);
	set(callbacks, 1, 7, (void *)end);
	set(callbacks, 1, 9, (void *)push);
	set(callbacks, 1, 11, (void *)pop);
	set(callbacks, 5, 4, (void *)domain_push);
	set(callbacks, 5, 10, (void *)registered);
	set(callbacks, 5, 12, (void *)create);
	atexit(report);
	return 1;
}
