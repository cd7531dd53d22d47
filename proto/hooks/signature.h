/* signature.h: a function's arguments and result, as text that travels with its call sites. The
 * text is `RESULT(TYPE NAME, TYPE *NAME, ...)` in the words of the hooks language; a struct by
 * value is `struct NAME`. An undescribed function has six integer registers, arg0 to arg5. Runs in
 * the agent: libc's memory functions only. No state. */
#ifndef HK_HOOKS_SIGNATURE_H
#define HK_HOOKS_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>

#include "hooks/hook.h"

#define HK_SIGNATURE_BYTES 768u	     /* the longest text with its NUL; longer ones are left out */
#define HK_SIGNATURE_UNKNOWN_ARGS 6u /* integer registers kept of an undescribed function */

struct hk_signature_part {
	const char *name; /* not terminated; "" for the result */
	uint8_t name_bytes;
	uint8_t type;	/* enum hk_hook_type */
	bool reference; /* the address of a value of this type */
};

struct hk_signature {
	uint32_t count; /* arguments */
	struct hk_signature_part result, arguments[HK_HOOK_ARGS];
};

/* Writes HOOK's signature to TEXT. Returns its length without the NUL, or 0 if it is too long. */
size_t hk_signature_write(const struct hk_hook *hook, char text[HK_SIGNATURE_BYTES]);

/* Reads TEXT, which the result points into. Returns 0, or -EINVAL if it is not a signature. */
int hk_signature_read(const char *text, struct hk_signature *ret_signature);

#endif
