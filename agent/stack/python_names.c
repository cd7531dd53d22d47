#include "agent/stack/python_names.h"

#include <stddef.h>

#include "agent/memory/arena.h"
#include "agent/record/process.h"
#include "agent/stack/python_code.h"

#define CODES_BITS 16
#define CODES (1u << CODES_BITS)
#define FILES_BITS 10
#define FILES (1u << FILES_BITS)
#define MIX 0x9e3779b97f4a7c15ULL

static_assert(HK_STACK_CODES_MAX < CODES, "a look-up meets a free place");

struct name {
	uint64_t identity; /* of a code object, or hash of a file */
	uint32_t number;   /* of the code object, or offset of the file's string; 0: free */
};

static struct {
	struct name *codes, *files;
	char text[HK_PYTHON_TEXT_BYTES];
} names;

static bool prepare(void)
{
	names.codes = names.codes ? names.codes : hk_arena_take(CODES * sizeof(*names.codes));
	names.files = names.files ? names.files : hk_arena_take(FILES * sizeof(*names.files));
	return names.codes && names.files;
}

void hk_python_names_clear(void)
{
	for (uint32_t i = 0; names.codes && i < CODES; i++) {
		names.codes[i].number = 0;
	}
	for (uint32_t i = 0; names.files && i < FILES; i++) {
		names.files[i].number = 0;
	}
}

static uint64_t hash_of(const char *text)
{
	uint64_t hash = MIX;

	for (size_t i = 0; text[i]; i++) {
		hash = (hash ^ (unsigned char)text[i]) * MIX;
		hash ^= hash >> 32;
	}
	return hash;
}

/* Returns the offset of the string FILE, or 0. Many functions have the same file. */
static uint32_t file_of(const char *file)
{
	uint64_t hash = hash_of(file);
	struct name *name = &names.files[hash >> (64 - FILES_BITS)];

	if (!name->number || name->identity != hash) {
		*name = (struct name){hash, hk_writer_string(&hk_process.writer, file)};
	}
	return name->number;
}

static uint32_t add(const struct hk_interpreter *interpreter, uint64_t code,
		    enum hk_python_care care)
{
	if (!hk_python_code_file(interpreter, code, names.text, care)) {
		names.text[0] = '\0';
	}
	uint32_t file = file_of(names.text);
	if (!hk_python_code_name(interpreter, code, names.text, care)) {
		names.text[0] = '\0';
	}
	uint32_t name = file ? hk_writer_string(&hk_process.writer, names.text) : 0;
	return name ? hk_writer_code(&hk_process.writer, file, name,
				     hk_python_code_first_line(interpreter, code))
		    : 0;
}

uint32_t hk_python_names_number(const struct hk_interpreter *interpreter, uint64_t code,
				enum hk_python_care care)
{
	uint64_t identity = hk_python_identity(interpreter, code);

	if (!prepare()) {
		return 0;
	}
	for (uint64_t at = identity >> (64 - CODES_BITS);; at++) {
		struct name *name = &names.codes[at % CODES];
		if (!name->number) {
			*name = (struct name){identity, add(interpreter, code, care)};
			return name->number;
		}
		if (name->identity == identity) {
			return name->number;
		}
	}
}
