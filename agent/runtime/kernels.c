#include "agent/runtime/kernels.h"

#include <stddef.h>

#include "agent/frame/state.h"
#include "agent/memory/arena.h"
#include "agent/object/find.h"
#include "agent/record/process.h"
#include "agent/runtime/kernel_names.h"
#include "agent/runtime/operand.h"
#include "agent/stack/code.h"
#include "agent/stack/tree.h"
#include "ring/segment.h"

#define TRIES 64u /* places tried for one handle */
#define TEXTS_BITS 15
#define TEXTS (1u << TEXTS_BITS)
static_assert(TEXTS >= 2 * HK_KERNELS_MAX, "kernels.texts is never full");
#define NAME_MOST (1u << 20) /* bytes; a longer text is not a name */
#define PAGE 4096u	     /* or part of a page */
#define MIX 0x9e3779b97f4a7c15ULL

struct text {
	uint64_t hash;
	uint32_t number; /* 0: free */
	uint32_t reserved;
};

/* A kernel whose name is being kept. */
struct naming {
	uint64_t handle, function, module;
	const char *name;
	bool stub; /* the function of the host may stand for a missing name */
};

/* This address is not that of a segment: no number is valid yet. */
struct hk_handles hk_handles = {.segment = &hk_handles};

/* Under the process's lock. */
static struct {
	struct text *texts;
} kernels;

typedef int name_function(const char **name, const void *handle);
typedef int error_function(void);

enum entry { RUNTIME_NAME, FUNCTION_NAME, KERNEL_NAME, LAST_ERROR, TAKE_ERROR, ENTRIES };

static struct hk_find_kept entries[ENTRIES] = {
    [RUNTIME_NAME] = {.name = "cudaFuncGetName"}, [FUNCTION_NAME] = {.name = "cuFuncGetName"},
    [KERNEL_NAME] = {.name = "cuKernelGetName"},  [LAST_ERROR] = {.name = "cudaPeekAtLastError"},
    [TAKE_ERROR] = {.name = "cudaGetLastError"},
};

void hk_kernels_setup(void)
{
	hk_find_register(entries, ENTRIES);
}

/* ---- handles ---- */

static struct hk_handle *place_of(uint64_t key, uint32_t attempt)
{
	return &hk_handles.list[((key * HK_HANDLES_MIX >> (64 - HK_HANDLES_BITS)) + attempt) %
				HK_HANDLES];
}

static struct hk_handle *find(uint64_t key)
{
	for (uint32_t i = 0; i < TRIES; i++) {
		struct hk_handle *handle = place_of(key, i);
		uint64_t is = __atomic_load_n(&handle->key, __ATOMIC_ACQUIRE);
		if (is == key) {
			return handle;
		}
		if (!is) {
			return NULL;
		}
	}
	return NULL;
}

static bool is_idle(const struct hk_handle *handle)
{
	return !handle->number && !handle->function && !handle->module;
}

/* Returns the entry of KEY, a new one if need be, or NULL without room. Under the lock. */
static struct hk_handle *entry_of(uint64_t key)
{
	struct hk_handle *entry = find(key);

	for (uint32_t i = 0; i < TRIES && !entry; i++) {
		struct hk_handle *handle = place_of(key, i);
		if (!handle->key || is_idle(handle)) {
			__atomic_store_n(&handle->key, key, __ATOMIC_RELEASE);
			entry = handle;
		}
	}
	return entry;
}

static void set_number(struct hk_handle *handle, uint32_t number)
{
	__atomic_store_n(&handle->number, number, __ATOMIC_RELEASE);
}

static void drop(struct hk_handle *handle)
{
	set_number(handle, 0);
	handle->function = handle->module = 0;
	handle->asked = 0;
}

static bool is_within(const struct hk_handle *handle, struct hk_span span)
{
	return hk_span_holds(span, handle->key) || hk_span_holds(span, handle->function);
}

void hk_kernels_forget(struct hk_span span)
{
	hk_kernel_names_forget(span);
	for (uint32_t i = 0; hk_handles.list && i < HK_HANDLES; i++) {
		struct hk_handle *handle = &hk_handles.list[i];
		if (handle->key && (handle->asked || is_within(handle, span))) {
			drop(handle);
		}
	}
}

static void forget_module(uint64_t module)
{
	for (uint32_t i = 0; module && i < HK_HANDLES; i++) {
		struct hk_handle *handle = &hk_handles.list[i];
		if (handle->asked || handle->module == module) {
			drop(handle);
		}
	}
}

/* ---- names ---- */

/* A forked child has a segment of its own, which has none of its parent's kernels. */
static void clear(void)
{
	for (uint32_t i = 0; i < HK_HANDLES; i++) {
		set_number(&hk_handles.list[i], 0);
	}
	for (uint32_t i = 0; i < TEXTS; i++) {
		kernels.texts[i].number = 0;
	}
}

static bool prepare(void)
{
	if (hk_handles.segment == hk_process.writer.header) {
		return true;
	}
	if (hk_handles.list && kernels.texts) {
		clear();
	}
	hk_handles.list = hk_handles.list ? hk_handles.list
					  : hk_arena_take(HK_HANDLES * sizeof(*hk_handles.list));
	kernels.texts =
	    kernels.texts ? kernels.texts : hk_arena_take(TEXTS * sizeof(*kernels.texts));
	if (!hk_handles.list || !kernels.texts) {
		return false;
	}
	atomic_store_explicit(&hk_handles.segment, hk_process.writer.header, memory_order_release);
	return true;
}

/* Hashes and measures the name, whose memory may be unmapped. Returns false if it cannot be read.
 */
static bool measure(const char *name, struct hk_kernel *kernel)
{
	uint64_t hash = MIX;
	uint32_t length = 0;

	for (;; length++) {
		uintptr_t at = (uintptr_t)(name + length);
		if ((length == 0 || at % PAGE == 0) &&
		    (hk_process.sealed || !hk_state_is_readable(at))) {
			return false;
		}
		if (!name[length] || length == NAME_MOST) {
			break;
		}
		hash = (hash ^ (uint8_t)name[length]) * MIX;
		hash ^= hash >> 32;
	}
	kernel->hash = hash;
	kernel->name_bytes = length;
	return length > 0 && length < NAME_MOST;
}

/* Identifies a kernel without a name by the place of the host function that launches it. */
static void locate(uint64_t function, struct hk_kernel *kernel)
{
	struct hk_code code;

	kernel->name_bytes = 0;
	kernel->address = function;
	if (hk_code_find(function, &code)) {
		kernel->object = hk_tree_object(&code);
		kernel->address = kernel->object ? function - code.base : function;
	}
	kernel->hash = (kernel->address ^ (uint64_t)kernel->object << 48) * MIX;
}

static struct text *text_of(uint64_t hash)
{
	for (uint64_t at = hash * MIX >> (64 - TEXTS_BITS);; at++) {
		struct text *text = &kernels.texts[at % TEXTS];
		if (!text->number || text->hash == hash) {
			return text;
		}
	}
}

/* Returns the kernel's number in the segment; 0: no room. Under the lock. */
static uint32_t number_of(const char *name, uint64_t function)
{
	struct hk_kernel kernel = {0};

	if (!name || !measure(name, &kernel)) {
		locate(function, &kernel);
	}
	struct text *text = text_of(kernel.hash);
	if (!text->number) {
		*text =
		    (struct text){.hash = kernel.hash,
				  .number = hk_writer_kernel(&hk_process.writer, &kernel, name)};
	}
	return text->number;
}

/* ---- in the lock ---- */

/* Runs CHANGE under the process's lock, and returns its result; 0: it could not run. */
static uint32_t locked(uint32_t (*change)(const struct naming *naming), const struct naming *naming)
{
	uint32_t inside = hk_in_agent, result = 0;
	uint64_t signals = hk_process_block_signals();

	hk_in_agent = 1;
	if (!hk_process_forked() && hk_process_lock()) {
		result = prepare() ? change(naming) : 0;
		hk_process_unlock();
	}
	hk_in_agent = inside;
	hk_process_restore_signals(signals);
	return result;
}

static const char *registered(const struct hk_handle *handle)
{
	return hk_kernel_names_find(handle->function ? handle->function : handle->key);
}

/* Numbers the handle of a launch by what is known of it, or by the name that was asked for. */
static uint32_t number_launched(const struct naming *naming)
{
	struct hk_handle *handle = entry_of(naming->handle);
	const struct hk_handle *like = handle ? find(handle->function) : NULL;

	if (!handle || handle->number) {
		return handle ? handle->number : 0;
	}
	if (like && like->number) {
		set_number(handle, like->number);
		return like->number;
	}
	const char *name = registered(handle);
	handle->asked = !name;
	name = name ? name : naming->name;
	if (name || naming->stub) {
		uint32_t number =
		    number_of(name, handle->function ? handle->function : handle->key);
		/* Without room its further launches are not looked up again. */
		set_number(handle, number ? number : HK_KERNEL_UNKNOWN);
	}
	return handle->number;
}

static uint32_t set_alias(const struct naming *naming)
{
	struct hk_handle *handle = entry_of(naming->handle);

	if (handle && (handle->function != naming->function || handle->module)) {
		const struct hk_handle *like = find(naming->function);
		drop(handle);
		handle->function = naming->function;
		handle->module = like ? like->module : 0;
	}
	return 0;
}

static uint32_t set_got(const struct naming *naming)
{
	struct hk_handle *handle = entry_of(naming->handle);

	if (handle) {
		drop(handle);
		handle->module = naming->module;
		set_number(handle, number_of(naming->name, naming->handle));
	}
	return 0;
}

static uint32_t set_gone(const struct naming *naming)
{
	forget_module(naming->module);
	return 0;
}

/* ---- factors ---- */

static bool is_launch(const struct hk_hook *hook)
{
	return hook->meaning == HK_MEANING_LAUNCH;
}

static bool known_number(uint64_t key, uint64_t *ret_number)
{
	const struct hk_handle *handle = NULL;

	if (atomic_load_explicit(&hk_handles.segment, memory_order_acquire) ==
	    hk_process.writer.header) {
		handle = find(key);
	}
	uint32_t number = handle ? __atomic_load_n(&handle->number, __ATOMIC_ACQUIRE) : 0;
	/* Another handle may have taken its place meanwhile. */
	*ret_number = number && __atomic_load_n(&handle->key, __ATOMIC_RELAXED) == key
			  ? number
			  : HK_KERNEL_UNKNOWN;
	return (number && *ret_number == number) || !key;
}

bool hk_kernels_known(const struct hk_call *call, const struct hk_factor *factor,
		      uint64_t *ret_value)
{
	uint64_t first = hk_operand_register(call, factor->arg);

	*ret_value = 0;
	switch (factor->kind) {
	case HK_FACTOR_KERNEL:
	case HK_FACTOR_KERNEL_DRIVER:
		/* A runtime calls the driver, and only one of them has the kernel. */
		return (call->depth && hk_operand_is_within(call, is_launch)) ||
		       known_number(first, ret_value) || hk_operand_failed(call);
	case HK_FACTOR_KERNEL_NAMED:
		return hk_kernel_names_add(first,
					   (const char *)hk_operand_register(call, factor->arg2));
	default:
		return hk_operand_failed(call);
	}
}

static const char *ask_for(enum entry entry, uint64_t handle)
{
	const char *name = NULL;
	void *address;

	return hk_find_keep(&entries[entry], &address) == 0 &&
		       ((name_function *)address)(&name, (const void *)handle) == 0
		   ? name
		   : NULL;
}

/* Returns the error that the runtime keeps for the calling thread, and clears it if TAKE. */
static int runtime_error(bool take)
{
	void *address;

	return hk_find_keep(&entries[take ? TAKE_ERROR : LAST_ERROR], &address) == 0
		   ? ((error_function *)address)()
		   : 0;
}

/* If the runtime refuses, it keeps an error for the host to find. An error of the agent's question
 * is cleared. */
static const char *ask_runtime(uint64_t handle)
{
	if (runtime_error(false) != 0) {
		return NULL; /* the host's own */
	}
	const char *name = ask_for(RUNTIME_NAME, handle);
	if (!name && runtime_error(false) != 0) {
		runtime_error(true);
	}
	return name;
}

/* Asks the library that made the handle. */
static const char *ask(const struct hk_factor *factor, uint64_t handle)
{
	if (factor->kind == HK_FACTOR_KERNEL) {
		return ask_runtime(handle);
	}
	const char *name = ask_for(FUNCTION_NAME, handle);
	return name ? name : ask_for(KERNEL_NAME, handle);
}

static uint64_t launched(const struct hk_factor *factor, uint64_t handle)
{
	struct naming naming = {.handle = handle};
	uint32_t number = locked(number_launched, &naming);

	if (!number) {
		naming.name = ask(factor, handle);
		naming.stub = true;
		number = locked(number_launched, &naming);
	}
	return number ? number : HK_KERNEL_UNKNOWN;
}

uint64_t hk_kernels_factor(struct hk_call *call, const struct hk_factor *factor)
{
	uint64_t value;

	if (factor->kind == HK_FACTOR_KERNEL_NAMED) {
		hk_kernel_names_grow();
	}
	if (hk_kernels_known(call, factor, &value) || factor->kind == HK_FACTOR_KERNEL_NAMED) {
		return value;
	}
	uint64_t first = hk_operand_argument(call, factor->arg);
	struct naming naming = {.handle = first};
	switch (factor->kind) {
	case HK_FACTOR_KERNEL_ALIAS:
		naming.function = hk_operand_argument(call, factor->arg2);
		return locked(set_alias, &naming);
	case HK_FACTOR_KERNEL_GOT:
		naming.module = hk_operand_argument(call, factor->arg2);
		naming.name = (const char *)hk_operand_argument(call, factor->arg3);
		return locked(set_got, &naming);
	case HK_FACTOR_KERNEL_GONE:
		naming.module = first;
		return locked(set_gone, &naming);
	default:
		return launched(factor, first);
	}
}
