#include "agent/stack/interpreter.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "agent/memory/arena.h"
#include "agent/object/find.h"
#include "agent/object/loader.h"
#include "agent/record/process.h"
#include "agent/stack/python_layouts.h"

#define OLDEST 0x0308u
#define NEWEST 0x030du
#define WITH_OFFSETS 0x030du /* the first version that describes its structures itself */

/* Looked for by every scan. */
static struct hk_find_kept entry = {.name = "PyGILState_GetThisThreadState"};

static _Atomic(const struct hk_interpreter *) current;
static _Atomic uint64_t looked_unloads; /* of the last refresh, plus 1; 0: there was none */
static _Atomic uint64_t status;

void hk_interpreter_setup(void)
{
	entry.refreshed = hk_interpreter_refresh;
	hk_find_register(&entry, 1);
}

uint64_t hk_interpreter_status(void)
{
	return atomic_load_explicit(&status, memory_order_relaxed);
}

/* ---- names ---- */

enum function {
	HOLDER,
	HOLDER_313,
	ENDS,
	ENDS_313,
	EVALUATE,
	MARK_38,
	MARK_39,
	MARK_310,
	FUNCTIONS
};

static const char function_names[FUNCTIONS][32] = {
    [HOLDER] = "_PyThreadState_UncheckedGet",
    [HOLDER_313] = "PyThreadState_GetUnchecked",
    [ENDS] = "_Py_IsFinalizing",
    [ENDS_313] = "Py_IsFinalizing",
    [EVALUATE] = "_PyEval_EvalFrameDefault",
    /* First exported by 3.8, 3.9 and 3.10, which do not export their version. */
    [MARK_38] = "PyCode_NewWithPosOnlyArgs",
    [MARK_39] = "PyObject_GC_IsTracked",
    [MARK_310] = "PyGC_Enable",
};

enum variable { VERSION, RUNTIME, CODE_TYPE, FRAME_TYPE, TEXT_TYPE, BYTES_TYPE, VARIABLES };

static const char variable_names[VARIABLES][16] = {
    [VERSION] = "Py_Version",	   [RUNTIME] = "_PyRuntime",	   [CODE_TYPE] = "PyCode_Type",
    [FRAME_TYPE] = "PyFrame_Type", [TEXT_TYPE] = "PyUnicode_Type", [BYTES_TYPE] = "PyBytes_Type",
};

struct names {
	uintptr_t thread; /* the object that holds it is the interpreter's */
	uintptr_t functions[FUNCTIONS], variables[VARIABLES];
	uintptr_t evaluate_bytes;
};

/* Variables may have been copied into the program: the first one in load order counts. */
static int find_names(struct dl_phdr_info *info, size_t size, void *data)
{
	struct names *names = data;
	struct hk_object object;

	(void)size;
	if (hk_object_read(info, &object) < 0) {
		return 0;
	}
	for (size_t i = 0; i < VARIABLES; i++) {
		if (!names->variables[i]) {
			names->variables[i] = hk_object_variable(&object, variable_names[i]);
		}
	}
	if (!hk_object_executes(&object, names->thread)) {
		return 0;
	}
	for (size_t i = 0; i < FUNCTIONS; i++) {
		names->functions[i] = hk_object_function(&object, function_names[i]);
	}
	const ElfW(Sym) *evaluate = hk_object_find(&object, function_names[EVALUATE]);
	names->evaluate_bytes = evaluate ? evaluate->st_size : 0;
	return 0;
}

/* ---- versions ---- */

static uint32_t version_of(const struct names *names)
{
	if (names->variables[VERSION]) {
		return (uint32_t)(*(const unsigned long *)names->variables[VERSION] >> 16);
	}
	return names->functions[MARK_310]  ? 0x030a
	       : names->functions[MARK_39] ? 0x0309
	       : names->functions[MARK_38] ? 0x0308
					   : 0;
}

/* Words of _Py_DebugOffsets of 3.13. */
enum word {
	WORD_COOKIE = 0,
	WORD_FREE_THREADED = 2,
	WORD_CURRENT_FRAME = 23,
	WORD_THREAD_ID = 24,
	WORD_FRAME_PREVIOUS = 29,
	WORD_FRAME_CODE = 30,
	WORD_FRAME_PLACE = 31,
	WORD_FRAME_BYTES = 32,
	WORD_FRAME_OWNER = 33,
	WORD_CODE_FILE = 35,
	WORD_CODE_NAME = 37,
	WORD_CODE_LINES = 38,
	WORD_CODE_FIRST_LINE = 39,
	WORD_CODE_START = 43,
	WORD_OBJECT_TYPE = 45,
	WORD_BYTES_LENGTH = 65,
	WORD_BYTES_DATA = 66,
	WORD_TEXT_STATE = 68,
	WORD_TEXT_LENGTH = 69,
	WORD_TEXT_ASCII = 70,
};
#define COOKIE 0x7970677562656478ULL /* "xdebugpy" */
#define OFFSET_MOST 4096u

/* Takes what the interpreter says of itself. Returns false if that is no set of offsets. */
static bool take_offsets(const uint64_t *words, struct hk_python_layout *layout)
{
	const struct {
		enum word word;
		uint16_t *to;
	} taken[] = {
	    {WORD_CURRENT_FRAME, &layout->thread_frame},
	    {WORD_THREAD_ID, &layout->thread_id},
	    {WORD_FRAME_PREVIOUS, &layout->frame_previous},
	    {WORD_FRAME_CODE, &layout->frame_code},
	    {WORD_FRAME_PLACE, &layout->frame_place},
	    {WORD_FRAME_BYTES, &layout->frame_bytes},
	    {WORD_FRAME_OWNER, &layout->frame_owner},
	    {WORD_CODE_FILE, &layout->code_file},
	    {WORD_CODE_NAME, &layout->code_name},
	    {WORD_CODE_LINES, &layout->code_lines},
	    {WORD_CODE_FIRST_LINE, &layout->code_first_line},
	    {WORD_CODE_START, &layout->code_start},
	    {WORD_CODE_START, &layout->code_bytes},
	    {WORD_OBJECT_TYPE, &layout->object_type},
	    {WORD_BYTES_LENGTH, &layout->bytes_length},
	    {WORD_BYTES_DATA, &layout->bytes_data},
	    {WORD_TEXT_STATE, &layout->text_state},
	    {WORD_TEXT_LENGTH, &layout->text_length},
	    {WORD_TEXT_ASCII, &layout->text_ascii},
	};

	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
		if (words[taken[i].word] >= OFFSET_MOST) {
			return false;
		}
		*taken[i].to = (uint16_t)words[taken[i].word];
	}
	return true;
}

/* Sets *ret_layout for VERSION. */
static enum hk_python_state find_layout(const struct names *names, uint32_t version,
					struct hk_python_layout *ret_layout)
{
	const uint64_t *words = (const uint64_t *)names->variables[RUNTIME];

	if (version < OLDEST || version > NEWEST) {
		return HK_PYTHON_UNKNOWN;
	}
	*ret_layout = layouts[version - OLDEST];
	if (ret_layout->version != version) {
		return HK_PYTHON_UNKNOWN;
	}
	if (version < WITH_OFFSETS) {
		return HK_PYTHON_READ;
	}
	if (!words || words[WORD_COOKIE] != COOKIE) {
		return HK_PYTHON_MISFIT;
	}
	if (words[WORD_FREE_THREADED]) {
		return HK_PYTHON_FREE_THREADED;
	}
	return take_offsets(words, ret_layout) ? HK_PYTHON_READ : HK_PYTHON_MISFIT;
}

/* ---- finding ---- */

static enum hk_python_state fill(const struct names *names, uint32_t version,
				 struct hk_interpreter *interpreter)
{
	enum hk_python_state state = find_layout(names, version, &interpreter->layout);
	uintptr_t holder =
	    names->functions[HOLDER] ? names->functions[HOLDER] : names->functions[HOLDER_313];
	uintptr_t ends =
	    names->functions[ENDS] ? names->functions[ENDS] : names->functions[ENDS_313];

	interpreter->thread = (void *(*)(void))names->thread;
	interpreter->holder = (void *(*)(void))holder;
	interpreter->ends = (int (*)(void))ends;
	interpreter->code_type = names->variables[CODE_TYPE];
	interpreter->frame_type = names->variables[FRAME_TYPE];
	interpreter->text_type = names->variables[TEXT_TYPE];
	interpreter->bytes_type = names->variables[BYTES_TYPE];
	interpreter->evaluate = (struct hk_span){
	    names->functions[EVALUATE], names->functions[EVALUATE] + names->evaluate_bytes};
	bool complete = holder && ends && interpreter->code_type && interpreter->frame_type &&
			interpreter->text_type && interpreter->bytes_type;
	return state == HK_PYTHON_READ && !complete ? HK_PYTHON_MISFIT : state;
}

static void publish(const struct hk_interpreter *interpreter, enum hk_python_state state,
		    uint32_t version)
{
	struct hk_segment_header *header = hk_process.writer.header;

	atomic_store_explicit(&status, (uint64_t)state << 32 | version, memory_order_relaxed);
	if (header && !hk_process_forked()) {
		atomic_store_explicit(&header->python, hk_interpreter_status(),
				      memory_order_relaxed);
	}
	atomic_store_explicit(&current, interpreter, memory_order_release);
}

/* Returns a copy of FOUND that is never freed, or NULL without memory. Scans that find the same
 * interpreter share one copy. */
static const struct hk_interpreter *lasting(const struct hk_interpreter *found)
{
	static struct hk_interpreter *last;

	if (!last || memcmp(last, found, sizeof(*found)) != 0) {
		struct hk_interpreter *copy = hk_arena_take(sizeof(*copy));
		if (!copy) {
			return NULL;
		}
		memcpy(copy, found, sizeof(*copy));
		last = copy;
	}
	return last;
}

/* Finds the interpreter that exports THREAD. Returns false if the objects cannot be read now, or
 * without memory. */
static bool bind(void *thread)
{
	struct names names = {.thread = (uintptr_t)thread};
	struct hk_interpreter found;
	const struct hk_interpreter *kept = NULL;

	if (hk_loader_try(find_names, &names) < 0) {
		return false;
	}
	memset(&found, 0, sizeof(found));
	uint32_t version = version_of(&names);
	enum hk_python_state state = fill(&names, version, &found);
	if (state == HK_PYTHON_READ) {
		kept = lasting(&found);
		if (!kept) {
			return false;
		}
	}
	publish(kept, state, version);
	return true;
}

void hk_interpreter_refresh(void)
{
	uint64_t unloads = hk_loader_unloads() + 1;
	void *address = NULL;
	uint32_t inside = hk_in_agent;

	hk_in_agent = 1;
	int r = hk_find_keep(&entry, &address);
	bool known = r == 0 || r == -ENOENT;
	if (r == -ENOENT) {
		publish(NULL, HK_PYTHON_NONE, 0);
	} else if (r == 0 && (!hk_interpreter_status() || looked_unloads != unloads)) {
		known = bind(address);
	}
	if (known) {
		atomic_store_explicit(&looked_unloads, unloads, memory_order_release);
	}
	hk_in_agent = inside;
}

const struct hk_interpreter *hk_interpreter_get(void)
{
	/* It is still there as long as no object was unloaded. */
	return atomic_load_explicit(&looked_unloads, memory_order_acquire) ==
		       hk_loader_unloads() + 1
		   ? atomic_load_explicit(&current, memory_order_acquire)
		   : NULL;
}
