#include "timeline/kernel_name.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "text/demangle.h"

#define WHOLE_BYTES 8192u /* of a name that is made short */

const Hk__Kernel *hk_kernel_find(const Hk__Process *process, uint64_t number)
{
	/* Kernels come in the order of their numbers. */
	return number > 0 && number <= process->n_kernels &&
		       process->kernels[number - 1]->number == number
		   ? process->kernels[number - 1]
		   : NULL;
}

void hk_kernel_name_whole(const char *name, char *text, size_t size)
{
	hk_demangle(name, text, size);
}

/* ---- short names */

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '~' || c == '$' || (unsigned char)c >= 0x80;
}

/* Returns the length of TEXT without the bracketed group at its end. */
static size_t without_group(const char *text, size_t length)
{
	size_t depth = 0;

	while (length > 0) {
		char c = text[--length];
		depth += c == ')' || c == '>' || c == '}';
		depth -= depth > 0 && (c == '(' || c == '<' || c == '{');
		if (depth == 0) {
			break;
		}
	}
	return length;
}

static bool ends_group(const char *text, size_t length)
{
	return length > 0 && strchr(")>}", text[length - 1]);
}

/* Returns the length of TEXT without the name at its end, which qualifies what follows. */
static size_t without_qualifier(const char *text, size_t length)
{
	static const char constant[] = " const";
	const size_t bytes = sizeof(constant) - 1;

	if (length >= bytes && memcmp(text + length - bytes, constant, bytes) == 0) {
		length -= bytes;
	}
	while (ends_group(text, length)) {
		length = without_group(text, length);
	}
	while (length > 0 && is_letter(text[length - 1])) {
		length--;
	}
	return length;
}

void hk_kernel_name_short(const char *name, char *text, size_t size)
{
	char whole[WHOLE_BYTES], made[WHOLE_BYTES];
	size_t used = 0;

	hk_demangle_short(name, whole, sizeof(whole));
	for (const char *at = whole; *at; at++) {
		if (at[0] == ':' && at[1] == ':') {
			used = without_qualifier(made, used);
			at++;
		} else {
			made[used++] = *at;
		}
	}
	made[used] = '\0';
	snprintf(text, size, "%.*s", (int)size - 1, made);
}

void hk_kernel_label(const Hk__Kernel *kernel, char text[HK_KERNEL_SHORT_BYTES])
{
	if (kernel && *kernel->name) {
		hk_kernel_name_short(kernel->name, text, HK_KERNEL_SHORT_BYTES);
	} else if (kernel) {
		snprintf(text, HK_KERNEL_SHORT_BYTES, "[0x%" PRIx64 "]", kernel->address);
	} else {
		snprintf(text, HK_KERNEL_SHORT_BYTES, "(unknown)");
	}
}
