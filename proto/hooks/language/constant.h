/* constant.h: a number written in a hooks file, as the bits that a function returns.
 *
 * Runs in the agent, in no locale. Pure function.
 */
#ifndef HK_HOOKS_LANGUAGE_CONSTANT_H
#define HK_HOOKS_LANGUAGE_CONSTANT_H

#include <stddef.h>
#include <stdint.h>

/* Reads "-12", "0xff" (64 bits, two's complement), "1.5" (bits of a double) or "1.5f" (of a float,
 * zeros above). Returns 0, -EINVAL for any other text, or -ERANGE for more than 64 bits or 18
 * digits of a fraction. */
int hk_constant_parse(const char *text, size_t length, uint64_t *ret_bits);

#endif
