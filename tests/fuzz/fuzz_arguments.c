/* links: hk_hooks */
/* A signature of any bytes, up to the first newline, and words of any bytes behind it: what is read
 * of them lies within them, and prints within its room. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hooks/arguments.h"

#define REQUIRE(condition)          \
	do {                        \
		if (!(condition)) { \
			abort();    \
		}                   \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct hk_argument *argument, const uint64_t *words, unsigned count)
{
	char text[40];

	memset(text, 'x', sizeof(text));
	size_t length = hk_argument_print(argument, text, sizeof(text) - 1);
	REQUIRE(length < sizeof(text) - 1 && text[length] == '\0' && text[sizeof(text) - 1] == 'x');
	if (argument->form == HK_ARGUMENT_TEXT) {
		REQUIRE(argument->text > (const char *)words);
		REQUIRE(argument->text + argument->text_bytes <= (const char *)(words + count));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = size ? memchr(data, '\n', size) : NULL;
	size_t length = end ? (size_t)(end - data) : size;
	unsigned count = end ? (unsigned)((size - length - 1) / sizeof(uint64_t)) : 0;
	char *text = malloc(length + 1);
	uint64_t *words = malloc((count + 1) * sizeof(*words));
	struct hk_signature signature;
	struct hk_arguments arguments;

	REQUIRE(text && words);
	if (size) {
		memcpy(text, data, length);
	}
	text[length] = '\0';
	if (count) {
		memcpy(words, end + 1, count * sizeof(*words));
	}
	if (hk_signature_read(text, &signature) == 0) {
		REQUIRE(signature.count <= HK_HOOK_ARGS);
		if (hk_arguments_read(&signature, words, count, &arguments) == 0) {
			REQUIRE(arguments.count == signature.count);
			for (uint32_t i = 0; i < arguments.count; i++) {
				check(&arguments.list[i], words, count);
			}
			check(&arguments.result, words, count);
		}
	}
	free(text);
	free(words);
	return 0;
}
