#include "agent/compat/backtrace.h"

#include <string.h>

#include "agent/compat/line.h"
#include "agent/frame/hot.h"
#include "agent/frame/state.h"
#include "agent/object/find.h"
#include "agent/object/loader.h"
#include "agent/object/program.h"
#include "agent/record/process.h"
#include "agent/record/thread.h"
#include "agent/stack/code.h"
#include "agent/stack/python.h"
#include "agent/stack/python_code.h"
#include "agent/stack/walk.h"

#define MANGLED_BYTES 512u /* of the longest name that is demangled */
/* What demangling such a name takes of the stack. */
#define DEMANGLE_STACK_BYTES 262144u
#define NUMBER_COLUMNS 10 /* a lower number has a blank before it */

struct named {
	const char *path, *name; /* NULL: no object exports a name for it */
};

/* Native frames. Their objects stay loaded while they are open, and with them their names. */
struct frames {
	struct hk_thread_walk walk;
	struct named named[HK_WALK_FRAMES];
};

/* ---- names ---- */

static int name_frames(struct dl_phdr_info *info, size_t size, void *data)
{
	struct frames *frames = data;
	struct hk_object object;

	(void)size;
	if (hk_object_read(info, &object) < 0 ||
	    hk_object_executes(&object, (uintptr_t)name_frames)) {
		return 0; /* the agent's own frames have no line */
	}
	for (uint32_t i = 0; i < frames->walk.count; i++) {
		uintptr_t address = frames->walk.address[i];
		if (hk_object_executes(&object, address)) {
			frames->named[i].name = hk_object_function_at(&object, address);
			frames->named[i].path = hk_program_path_of(&object);
		}
	}
	return 0;
}

/* ---- demangling ---- */

typedef char *demangler(const char *mangled, char *output, size_t *length, int *status);

static struct hk_find_kept demangle = {.name = "__cxa_demangle"};
/* The result of the last call, from the host's heap. Under the process lock. */
static char *demangled;
static size_t demangled_bytes;

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Returns whether ADDRESS lies before the code that a signal handler returns to. */
static bool is_before_handler_end(uint64_t address)
{
#if defined(__x86_64__)
	static const uint8_t end[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
#else
	static const uint8_t end[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4};
#endif
	struct hk_code code;

	return hk_code_find(address + sizeof(end), &code) &&
	       memcmp((const void *)(address + 1), end, sizeof(end)) == 0;
}

/* Returns whether the calling thread may allocate: no function that holds a lock of the heap is
 * open on its stack. The heap's own functions call those of the C library only. */
static bool may_allocate(const struct hk_call *call, const struct frames *frames)
{
	const struct hk_hook *hook = call->site->hook;
	struct hk_code callee;
	bool heap = hook->meaning >= HK_MEANING_ALLOC && hook->meaning <= HK_MEANING_REMAP &&
		    hk_hook_memory(hook->flags) == HK_MEMORY_HOST;

	if (heap || frames->walk.end != HK_WALK_WHOLE ||
	    !hk_code_find((uintptr_t)call->site->original, &callee) ||
	    strncmp(base_name(callee.path), "libc.", 5) == 0 ||
	    strncmp(base_name(callee.path), "ld-", 3) == 0) {
		return false;
	}
	for (uint32_t i = 0; i < frames->walk.count; i++) {
		if (is_before_handler_end(frames->walk.address[i])) {
			return false;
		}
	}
	return hk_state_has_bytes(DEMANGLE_STACK_BYTES);
}

/* Returns NAME as C++ spells it, valid until the next call, or NAME itself. Under the process lock.
 */
static const char *spell(demangler *function, const char *name)
{
	size_t bytes = demangled_bytes;
	int status = -1;

	if (!function || name[0] != '_' || name[1] != 'Z' || strlen(name) >= MANGLED_BYTES) {
		return name;
	}
	char *result = function(name, demangled, &bytes, &status);
	if (status != 0 || !result) {
		return name;
	}
	demangled = result;
	demangled_bytes = bytes;
	return demangled;
}

/* ---- lines ---- */

static void print_frame(uint32_t number, const struct named *named, const char *name)
{
	struct hk_compat_line line = {.used = 0};

	hk_compat_line_text(&line, number < NUMBER_COLUMNS ? "    frame # " : "    frame #");
	hk_compat_line_number(&line, number, 10);
	hk_compat_line_text(&line, " ");
	hk_compat_line_text(&line, named->path);
	hk_compat_line_text(&line, ":");
	hk_compat_line_text(&line, name);
	hk_compat_line_end(&line);
}

static uint32_t print_frames(const struct frames *frames, demangler *function)
{
	uint32_t lines = 0;

	for (uint32_t i = 0; i < frames->walk.count; i++) {
		const struct named *named = &frames->named[i];
		if (named->name) {
			print_frame(i, named, spell(function, named->name));
			lines++;
		}
	}
	return lines;
}

/* The host's library allocates: its calls are not the host's. */
static uint32_t print_demangled(const struct frames *frames)
{
	uint64_t signals = hk_process_block_signals();
	uint32_t lines = 0;
	void *address;

	hk_in_agent = 1;
	if (hk_process_lock()) {
		bool known = hk_find_keep(&demangle, &address) == 0;
		lines = print_frames(frames, known ? (demangler *)address : NULL);
		hk_process_unlock();
	}
	hk_in_agent = 0;
	hk_process_restore_signals(signals);
	return lines;
}

uint32_t hk_backtrace_print(const struct hk_call *call)
{
	const struct hk_frame caller = {
	    .pc = call->return_address, .sp = (uint64_t)call->stack, .fp = call->caller_frame};
	struct frames frames;

	memset(&frames, 0, sizeof(frames));
	hk_walk_take(caller, &frames.walk);
	if (hk_loader_try(name_frames, &frames) < 0) {
		return 0; /* another thread is loading an object */
	}
	return !hk_in_agent && may_allocate(call, &frames) ? print_demangled(&frames)
							   : print_frames(&frames, NULL);
}

/* ---- Python ---- */

/* Returns the last part of a qualified name: the name that `traceback` shows. */
static const char *last_part(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && dot[1] ? dot + 1 : name;
}

static void print_python_frame(const struct hk_interpreter *interpreter,
			       const struct hk_python_item *item)
{
	struct hk_compat_line line = {.used = 0};
	char text[HK_PYTHON_TEXT_BYTES];
	bool known = hk_python_code_file(interpreter, item->code, text, HK_PYTHON_SIGNAL);

	hk_compat_line_text(&line, "    ");
	hk_compat_line_text(&line, known ? text : "?");
	hk_compat_line_text(&line, "(");
	hk_compat_line_number(
	    &line, hk_python_code_line(interpreter, item->code, item->place, HK_PYTHON_SIGNAL), 10);
	hk_compat_line_text(&line, "): ");
	known = hk_python_code_name(interpreter, item->code, text, HK_PYTHON_SIGNAL);
	hk_compat_line_text(&line, known ? last_part(text) : "?");
	hk_compat_line_end(&line);
}

uint32_t hk_backtrace_print_python(void)
{
	struct hk_python_item items[HK_PYTHON_ITEMS];
	const struct hk_interpreter *interpreter = hk_interpreter_get();
	uint32_t lines = 0;
	bool deep;

	uint32_t count = hk_python_items(items, HK_PYTHON_SIGNAL, &deep);
	for (uint32_t i = 0; i < count; i++) {
		if (items[i].code) {
			print_python_frame(interpreter, &items[i]);
			lines++;
		}
	}
	return lines;
}
