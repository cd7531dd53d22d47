#include "agent/compat/compat.h"

#include <string.h>

#include "agent/compat/backtrace.h"
#include "agent/compat/heap.h"
#include "agent/compat/line.h"
#include "agent/frame/hot.h"
#include "agent/frame/plan.h"
#include "agent/frame/site.h"
#include "agent/record/process.h"
#include "agent/runtime/arguments.h"
#include "agent/runtime/operand.h"
#include "hooks/arguments.h"

#define TEXT_BYTES 300
#define LIBRARY_TEXT 128
#define KNOWN 0x80u /* bit of a mask: the mask is known */

static const struct hk_compat_settings *settings;
static uint8_t masks[HK_THUNKS]; /* masks of HOOK_ENABLE_TRACE, by site */

#define BEGIN_LINE(line, level, module) \
	hk_compat_line_begin(line, level, module, __FILE__, __LINE__)

static bool is_on(enum hk_compat_module module, enum hk_compat_level level)
{
	return level >= settings->level[module];
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* ---- arguments ---- */

/* Names of types in C. */
static const char *type_name(uint8_t type)
{
	switch (type) {
	case HK_TYPE_INT:
	case HK_TYPE_FD:
	case HK_TYPE_NCCL_DATATYPE:
		return "int";
	case HK_TYPE_UINT:
		return "unsigned int";
	case HK_TYPE_LONG:
		return "long";
	case HK_TYPE_ULONG:
		return "unsigned long";
	case HK_TYPE_STR:
	case HK_TYPE_TEXT:
		return "char const*";
	case HK_TYPE_FLOAT:
		return "float";
	case HK_TYPE_DOUBLE:
		return "double";
	case HK_TYPE_STRUCT:
		return "struct";
	case HK_TYPE_DIM3:
		return "dim3";
	default:
		return "void*";
	}
}

static void put_argument(struct hk_compat_line *line, const struct hk_call *call, uint32_t number,
			 const struct hk_argument *argument, bool described)
{
	const struct hk_hook_arg *arg = &call->site->hook->args[number];
	char text[TEXT_BYTES];
	struct hk_argument shown = *argument;

	if (described && arg->reference) {
		/* The location of the value, not the value. */
		shown.form = HK_ARGUMENT_POINTER;
		shown.word = hk_operand_register(call, (uint8_t)number);
	}
	hk_argument_print(&shown, text, sizeof(text));
	hk_compat_line_text(line, " arg");
	hk_compat_line_number(line, number, 10);
	hk_compat_line_text(line, ":");
	hk_compat_line_text(line, text);
	hk_compat_line_text(line, "(");
	hk_compat_line_text(line, described ? type_name(arg->type) : "unknown");
	hk_compat_line_text(line, described && arg->reference ? "*)" : ")");
}

static void print_arguments(struct hk_call *call, const char *function)
{
	struct hk_compat_line line;
	struct hk_signature signature;
	struct hk_arguments arguments;
	struct hk_payload payload = {.count = 0};
	char text[HK_SIGNATURE_BYTES];

	hk_arguments_keep(call, &payload);
	hk_signature_write(call->site->hook, text);
	if (hk_signature_read(text, &signature) < 0 ||
	    hk_arguments_read(&signature, payload.words, payload.count, &arguments) < 0) {
		return;
	}
	BEGIN_LINE(&line, HK_COMPAT_WARN, HK_COMPAT_TRACE);
	hk_compat_line_text(&line, function);
	hk_compat_line_text(&line, ":");
	for (uint32_t i = 0; i < arguments.count; i++) {
		put_argument(&line, call, i, &arguments.list[i],
			     call->site->hook->flags & HK_HOOK_DESCRIBED);
	}
	hk_compat_line_end(&line);
}

/* ---- memory ---- */

/* Returns the named value KEY of the call, or OTHERWISE if it has none. */
static uint64_t value_of(const struct hk_hook *hook, const uint64_t *values, uint8_t key,
			 uint64_t otherwise)
{
	for (uint32_t i = 0; i < hook->value_count; i++) {
		if (hook->values[i].key == key) {
			return values[i];
		}
	}
	return otherwise;
}

static void put_place(struct hk_compat_line *line, const char *library, const char *what,
		      int64_t device, uint64_t pointer)
{
	hk_compat_line_text(line, "[");
	hk_compat_line_text(line, base_name(library));
	hk_compat_line_text(line, what);
	hk_compat_line_text(line, device < 0 ? "-" : "");
	hk_compat_line_number(line, (uint64_t)(device < 0 ? -device : device), 10);
	hk_compat_line_text(line, ", ptr: 0x");
	hk_compat_line_number(line, pointer, 16);
}

static void print_free(const char *library, uint64_t pointer)
{
	struct hk_compat_line line;
	const struct hk_compat_account *account = hk_compat_heap_remove(pointer);

	if (!account) {
		return; /* the block was allocated before tracing began */
	}
	BEGIN_LINE(&line, HK_COMPAT_INFO, HK_COMPAT_MEMORY);
	put_place(&line, library, "][FREE] devId: ", account->device, pointer);
	hk_compat_line_end(&line);
}

static void print_alloc(const struct hk_hook *hook, const char *library, uint64_t pointer,
			uint64_t size, int64_t device)
{
	struct hk_compat_line line;
	uint32_t kind = hk_hook_memory(hook->flags);
	uint32_t shown = kind == HK_MEMORY_DEVICE ? 0 : kind; /* as device allocators report it */
	const struct hk_compat_account *account =
	    hk_compat_heap_add(pointer, size, library, device, kind);

	if (!account) {
		return;
	}
	BEGIN_LINE(&line, HK_COMPAT_INFO, HK_COMPAT_MEMORY);
	put_place(&line, library, "][ALLOC] devId: ", device, pointer);
	hk_compat_line_text(&line, ", size: ");
	hk_compat_line_size(&line, size);
	hk_compat_line_text(&line, ", kind: ");
	hk_compat_line_number(&line, shown, 10);
	hk_compat_line_text(&line, ", allocated: ");
	hk_compat_line_size(&line, account->live);
	hk_compat_line_text(&line, ", peak: ");
	hk_compat_line_size(&line, account->peak);
	hk_compat_line_end(&line);
}

static void print_memory(const struct hk_hook *hook, const char *library, const uint64_t *values)
{
	bool host = hk_hook_memory(hook->flags) == HK_MEMORY_HOST;
	uint64_t pointer = value_of(hook, values, HK_KEY_POINTER, 0);
	uint64_t old = value_of(hook, values, HK_KEY_OLD_POINTER, 0);
	uint64_t size = value_of(hook, values, HK_KEY_SIZE, 0);
	int64_t device = (int32_t)value_of(hook, values, HK_KEY_DEVICE, host ? ~0ULL : 0);
	bool made = pointer && pointer != ~0ULL;

	switch (hook->meaning) {
	case HK_MEANING_REALLOC:
	case HK_MEANING_REMAP:
		if (old && (made || !size)) {
			print_free(library, old);
		}
		if (made) {
			print_alloc(hook, library, pointer, size, device);
		}
		break;
	case HK_MEANING_ALLOC:
	case HK_MEANING_MAP:
		if (made) {
			print_alloc(hook, library, pointer, size, device);
		}
		break;
	case HK_MEANING_FREE:
	case HK_MEANING_UNMAP:
		print_free(library, pointer);
		break;
	default:
		break;
	}
}

/* All threads share the account of blocks. */
static void tell_memory(const struct hk_hook *hook, const char *library, const uint64_t *values)
{
	if (hook->meaning < HK_MEANING_ALLOC || hook->meaning > HK_MEANING_REMAP || hk_in_agent) {
		return;
	}
	uint64_t signals = hk_process_block_signals();
	hk_in_agent = 1;
	if (hk_process_lock()) {
		print_memory(hook, library, values);
		hk_process_unlock();
	}
	hk_in_agent = 0;
	hk_process_restore_signals(signals);
}

/* ---- callers ---- */

static void print_text(const char *text)
{
	struct hk_compat_line line = {.used = 0};

	hk_compat_line_text(&line, text);
	hk_compat_line_end(&line);
}

static void print_callers(const struct hk_call *call, const char *function)
{
	struct hk_compat_line line;

	BEGIN_LINE(&line, HK_COMPAT_WARN, HK_COMPAT_TRACE);
	hk_compat_line_text(&line, function);
	hk_compat_line_text(&line, " with frame:");
	hk_compat_line_end(&line);
	print_text("  Native frame:");
	if (hk_backtrace_print(call) == 0) {
		print_text("    [empty stack]");
	}
	print_text("  Python frame:");
	if (hk_backtrace_print_python() == 0) {
		print_text("    [empty stack]");
	}
}

/* ---- a call ---- */

static uint8_t mask_of(uint32_t site, const char *function)
{
	if (!masks[site]) {
		masks[site] = (uint8_t)(hk_compat_trace(settings, function) & ~KNOWN) | KNOWN;
	}
	return masks[site];
}

/* Uses up to HK_OBSERVER_STACK_BYTES of the stack, including saved registers: paths and signatures
 * are long. */
static int print(void *returned, void *observed)
{
	struct hk_call *call = returned;
	const struct hk_observed *about = observed;
	uint32_t site = call->site->index;
	const char *function = hk_site_function(site);

	if (hk_process.sealed || !*function) {
		return 0; /* in a sandbox, or a call of the calibration */
	}
	if (mask_of(site, function) & HK_COMPAT_CALLERS && is_on(HK_COMPAT_TRACE, HK_COMPAT_WARN)) {
		print_callers(call, function);
	}
	if (mask_of(site, function) & HK_COMPAT_ARGUMENTS &&
	    is_on(HK_COMPAT_TRACE, HK_COMPAT_WARN)) {
		print_arguments(call, function);
	}
	if (about->values && is_on(HK_COMPAT_MEMORY, HK_COMPAT_INFO)) {
		tell_memory(call->site->hook, hk_site_library(site), about->values);
	}
	if (is_on(HK_COMPAT_PROFILE, HK_COMPAT_INFO)) {
		struct hk_compat_line line;
		BEGIN_LINE(&line, HK_COMPAT_INFO, HK_COMPAT_PROFILE);
		hk_compat_line_text(&line, function);
		hk_compat_line_text(&line, " costs ");
		hk_compat_line_number(&line, about->ns, 10);
		hk_compat_line_text(&line, "ns");
		hk_compat_line_end(&line);
	}
	return 0;
}

void hk_compat_start(const struct hk_compat_settings *given)
{
	bool traces = false;

	settings = given;
	for (uint32_t i = 0; i < settings->trace_count; i++) {
		traces |= settings->traces[i].mask & (HK_COMPAT_ARGUMENTS | HK_COMPAT_CALLERS);
	}
	bool prints = settings->on && (is_on(HK_COMPAT_PROFILE, HK_COMPAT_INFO) ||
				       is_on(HK_COMPAT_MEMORY, HK_COMPAT_INFO) || traces);
	hk_observer = prints ? print : NULL;
	hk_compat_line_start(settings);
}
