#include "agent/nvtx.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "agent/annotate.h"
#include "agent/nvtx_names.h"
#include "agent/object/find.h"
#include "agent/record/process.h"
#include "base/identity.h"

#define EXPORTED __attribute__((visibility("default")))
#define CALLER ((uintptr_t)__builtin_return_address(0))

/* Numbers of NVTX 3 (nvtxTypes.h): tables, modules, and functions of the two modules. */
#define TABLE_CALLBACKS 1u
#define MODULE_CORE 1
#define MODULE_CORE2 5
enum core {
	MARK_EX = 1,
	MARK,
	MARK_WIDE,
	START_EX,
	START,
	START_WIDE,
	END,
	PUSH_EX,
	PUSH,
	PUSH_WIDE,
	POP,
	CORES = 16,
};
enum core2 {
	DOMAIN_MARK = 1,
	DOMAIN_START,
	DOMAIN_END,
	DOMAIN_PUSH,
	DOMAIN_POP,
	DOMAIN_REGISTER = 10,
	DOMAIN_REGISTER_WIDE,
	DOMAIN_CREATE,
	DOMAIN_CREATE_WIDE,
	DOMAIN_DESTROY,
	CORES2 = 16,
};

typedef void function(void);
struct callbacks {
	size_t bytes;
	int (*module)(int module, function ****table, unsigned *size);
};

static char *const *environment;
/* What the next library put into the tables; NULL: nothing. */
static function *_Atomic next_core[CORES], *_Atomic next_core2[CORES2];

#define NEXT(number, type) ((type)atomic_load_explicit(&next_core[number], memory_order_acquire))
#define NEXT2(number, type) ((type)atomic_load_explicit(&next_core2[number], memory_order_acquire))

/* ---- for the next library */

/* Its own handle of a domain or string; EVENT with its own handle of the message. */
static void *own_handle(const struct hk_nvtx_name *name)
{
	return name ? name->next : NULL;
}

static struct hk_nvtx_event with_own_handle(const struct hk_nvtx_event *event)
{
	struct hk_nvtx_event copy = *event;
	if (copy.message_type == HK_NVTX_REGISTERED) {
		copy.message = own_handle(event->message);
	}
	return copy;
}

/* ---- marks */

static void domain_mark(struct hk_nvtx_name *domain, const struct hk_nvtx_event *event)
{
	void (*next)(void *, const struct hk_nvtx_event *) =
	    NEXT2(DOMAIN_MARK, void (*)(void *, const struct hk_nvtx_event *));
	char text[HK_NVTX_TEXT_BYTES];
	hk_nvtx_text(domain, event, text);
	hk_annotate_mark(text, CALLER);
	if (next && event) {
		struct hk_nvtx_event own = with_own_handle(event);
		next(own_handle(domain), &own);
	}
}

static void mark_ex(const struct hk_nvtx_event *event)
{
	void (*next)(const struct hk_nvtx_event *) =
	    NEXT(MARK_EX, void (*)(const struct hk_nvtx_event *));
	char text[HK_NVTX_TEXT_BYTES];
	hk_nvtx_text(NULL, event, text);
	hk_annotate_mark(text, CALLER);
	if (next && event) {
		struct hk_nvtx_event own = with_own_handle(event);
		next(&own);
	}
}

static void mark(const char *text)
{
	void (*next)(const char *) = NEXT(MARK, void (*)(const char *));
	hk_annotate_mark(text, CALLER);
	if (next) {
		next(text);
	}
}

static void mark_wide(const wchar_t *wide)
{
	void (*next)(const wchar_t *) = NEXT(MARK_WIDE, void (*)(const wchar_t *));
	char text[HK_NVTX_TEXT_BYTES];
	hk_nvtx_narrow(wide, text);
	hk_annotate_mark(text, CALLER);
	if (next) {
		next(wide);
	}
}

/* ---- ranges of a thread */

static int domain_push(struct hk_nvtx_name *domain, const struct hk_nvtx_event *event)
{
	int (*next)(void *, const struct hk_nvtx_event *) =
	    NEXT2(DOMAIN_PUSH, int (*)(void *, const struct hk_nvtx_event *));
	char text[HK_NVTX_TEXT_BYTES];
	hk_nvtx_text(domain, event, text);
	int depth = hk_annotate_push(text, domain ? domain->number : 0, CALLER);
	if (next && event) {
		struct hk_nvtx_event own = with_own_handle(event);
		next(own_handle(domain), &own);
	}
	return depth;
}

static int domain_pop(struct hk_nvtx_name *domain)
{
	int (*next)(void *) = NEXT2(DOMAIN_POP, int (*)(void *));
	int depth = hk_annotate_pop(domain ? domain->number : 0);
	if (next) {
		next(own_handle(domain));
	}
	return depth;
}

static int push_ex(const struct hk_nvtx_event *event)
{
	int (*next)(const struct hk_nvtx_event *) =
	    NEXT(PUSH_EX, int (*)(const struct hk_nvtx_event *));
	char text[HK_NVTX_TEXT_BYTES];
	hk_nvtx_text(NULL, event, text);
	int depth = hk_annotate_push(text, 0, CALLER);
	if (next && event) {
		struct hk_nvtx_event own = with_own_handle(event);
		next(&own);
	}
	return depth;
}

static int push(const char *text)
{
	int (*next)(const char *) = NEXT(PUSH, int (*)(const char *));
	int depth = hk_annotate_push(text, 0, CALLER);
	if (next) {
		next(text);
	}
	return depth;
}

static int push_wide(const wchar_t *wide)
{
	int (*next)(const wchar_t *) = NEXT(PUSH_WIDE, int (*)(const wchar_t *));
	char text[HK_NVTX_TEXT_BYTES];
	hk_nvtx_narrow(wide, text);
	int depth = hk_annotate_push(text, 0, CALLER);
	if (next) {
		next(wide);
	}
	return depth;
}

static int pop(void)
{
	int (*next)(void) = NEXT(POP, int (*)(void));
	int depth = hk_annotate_pop(0);
	if (next) {
		next();
	}
	return depth;
}

/* ---- ranges of the process */

static uint64_t domain_start(struct hk_nvtx_name *domain, const struct hk_nvtx_event *event)
{
	uint64_t (*next)(void *, const struct hk_nvtx_event *) =
	    NEXT2(DOMAIN_START, uint64_t(*)(void *, const struct hk_nvtx_event *));
	char text[HK_NVTX_TEXT_BYTES];
	uint64_t theirs = 0;
	hk_nvtx_text(domain, event, text);
	if (next && event) {
		struct hk_nvtx_event own = with_own_handle(event);
		theirs = next(own_handle(domain), &own);
	}
	return hk_annotate_start_range(text, CALLER, theirs);
}

static uint64_t start_ex(const struct hk_nvtx_event *event)
{
	uint64_t (*next)(const struct hk_nvtx_event *) =
	    NEXT(START_EX, uint64_t(*)(const struct hk_nvtx_event *));
	char text[HK_NVTX_TEXT_BYTES];
	uint64_t theirs = 0;
	hk_nvtx_text(NULL, event, text);
	if (next && event) {
		struct hk_nvtx_event own = with_own_handle(event);
		theirs = next(&own);
	}
	return hk_annotate_start_range(text, CALLER, theirs);
}

static uint64_t start(const char *text)
{
	uint64_t (*next)(const char *) = NEXT(START, uint64_t(*)(const char *));
	return hk_annotate_start_range(text, CALLER, next ? next(text) : 0);
}

static uint64_t start_wide(const wchar_t *wide)
{
	uint64_t (*next)(const wchar_t *) = NEXT(START_WIDE, uint64_t(*)(const wchar_t *));
	char text[HK_NVTX_TEXT_BYTES];
	hk_nvtx_narrow(wide, text);
	return hk_annotate_start_range(text, CALLER, next ? next(wide) : 0);
}

static void domain_end(struct hk_nvtx_name *domain, uint64_t range)
{
	void (*next)(void *, uint64_t) = NEXT2(DOMAIN_END, void (*)(void *, uint64_t));
	uint64_t theirs = 0;
	if (hk_annotate_end_range(range, &theirs) && next) {
		next(own_handle(domain), theirs);
	}
}

static void end(uint64_t range)
{
	void (*next)(uint64_t) = NEXT(END, void (*)(uint64_t));
	uint64_t theirs = 0;
	if (hk_annotate_end_range(range, &theirs) && next) {
		next(theirs);
	}
}

/* ---- names */

static struct hk_nvtx_name *create_domain(const char *text)
{
	void *(*next)(const char *) = NEXT2(DOMAIN_CREATE, void *(*)(const char *));
	struct hk_nvtx_name *domain = hk_nvtx_domain(text);
	if (next && domain) {
		domain->next = next(text);
	}
	return domain;
}

static struct hk_nvtx_name *create_domain_wide(const wchar_t *wide)
{
	char text[HK_NVTX_TEXT_BYTES];
	hk_nvtx_narrow(wide, text);
	return create_domain(text);
}

static struct hk_nvtx_name *register_string(struct hk_nvtx_name *domain, const char *text)
{
	void *(*next)(void *, const char *) =
	    NEXT2(DOMAIN_REGISTER, void *(*)(void *, const char *));
	struct hk_nvtx_name *string = hk_nvtx_string(text);
	if (next && string) {
		string->next = next(own_handle(domain), text);
	}
	return string;
}

static struct hk_nvtx_name *register_string_wide(struct hk_nvtx_name *domain, const wchar_t *wide)
{
	char text[HK_NVTX_TEXT_BYTES];
	hk_nvtx_narrow(wide, text);
	return register_string(domain, text);
}

/* The agent keeps a domain, because its handle may still be in use. */
static void destroy_domain(struct hk_nvtx_name *domain)
{
	void (*next)(void *) = NEXT2(DOMAIN_DESTROY, void (*)(void *));
	if (next) {
		next(own_handle(domain));
	}
}

/* ---- the injection */

static function *const core[CORES] = {
    [MARK_EX] = (function *)mark_ex,
    [MARK] = (function *)mark,
    [MARK_WIDE] = (function *)mark_wide,
    [START_EX] = (function *)start_ex,
    [START] = (function *)start,
    [START_WIDE] = (function *)start_wide,
    [END] = (function *)end,
    [PUSH_EX] = (function *)push_ex,
    [PUSH] = (function *)push,
    [PUSH_WIDE] = (function *)push_wide,
    [POP] = (function *)pop,
};

static function *const core2[CORES2] = {
    [DOMAIN_MARK] = (function *)domain_mark,
    [DOMAIN_START] = (function *)domain_start,
    [DOMAIN_END] = (function *)domain_end,
    [DOMAIN_PUSH] = (function *)domain_push,
    [DOMAIN_POP] = (function *)domain_pop,
    [DOMAIN_REGISTER] = (function *)register_string,
    [DOMAIN_REGISTER_WIDE] = (function *)register_string_wide,
    [DOMAIN_CREATE] = (function *)create_domain,
    [DOMAIN_CREATE_WIDE] = (function *)create_domain_wide,
    [DOMAIN_DESTROY] = (function *)destroy_domain,
};

struct module {
	function ***table;
	unsigned size;
	function *before[CORES]; /* what the table held */
};

static bool find_module(const struct callbacks *callbacks, int number, struct module *module)
{
	if (callbacks->module(number, &module->table, &module->size) != 1 || !module->table) {
		return false;
	}
	for (unsigned i = 0; i < CORES; i++) {
		module->before[i] = i < module->size && module->table[i] ? *module->table[i] : NULL;
	}
	return true;
}

/* Puts OURS into the table. What the next library has put there is called by them. */
static void fill(struct module *module, function *const ours[CORES], function *_Atomic next[CORES])
{
	for (unsigned i = 0; i < CORES && i < module->size; i++) {
		if (!module->table[i] || !ours[i]) {
			continue;
		}
		function *now = *module->table[i];
		if (now != module->before[i]) {
			atomic_store_explicit(&next[i], now, memory_order_release);
		}
		*module->table[i] = ours[i];
	}
}

/* Has the library that HOOK_NVTX_NEXT names fill the tables, as if it were the only one. */
static bool inject_next(const void *(*get_table)(uint32_t))
{
	const char *file = hk_identity_variable(environment, "HOOK_NVTX_NEXT");
	void *(*open)(const char *, int) =
	    (void *(*)(const char *, int))(uintptr_t)hk_find_function("*", "dlopen");
	void *(*look_up)(void *, const char *) =
	    (void *(*)(void *, const char *))(uintptr_t)hk_find_function("*", "dlsym");
	void *library = file && file[0] && open ? open(file, RTLD_LAZY) : NULL;
	int (*inject)(const void *(*)(uint32_t)) =
	    library && look_up
		? (int (*)(const void *(*)(uint32_t)))look_up(library, "InitializeInjectionNvtx2")
		: NULL;
	return inject && inject(get_table);
}

/* Called by each copy of NVTX in the process, once. */
EXPORTED int InitializeInjectionNvtx2(const void *(*get_table)(uint32_t table))
{
	const struct callbacks *callbacks = get_table ? get_table(TABLE_CALLBACKS) : NULL;
	struct module one, two;
	if (!environment || !callbacks || callbacks->bytes < sizeof(*callbacks) ||
	    !find_module(callbacks, MODULE_CORE, &one) ||
	    !find_module(callbacks, MODULE_CORE2, &two)) {
		return 0;
	}
	bool next = inject_next(get_table);
	if (!hk_process.on) {
		return next;
	}
	fill(&one, core, next_core);
	fill(&two, core2, next_core2);
	return 1;
}

void hk_nvtx_start(char *const *variables)
{
	environment = variables;
}
