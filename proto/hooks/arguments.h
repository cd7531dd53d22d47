/* arguments.h: the arguments and the result of one call, as words of its record. At level
 * record+args, a word of marks follows the record's named values, then the arguments in order, then
 * the result. Bit i of the marks says that only the address of argument i is given,
 * HK_ARGUMENTS_RESULT the same of the result. A `struct` and a `void` take no word. A text takes
 * one word or more: a length byte, whose top bit says that the text was cut; the bytes; NULs up to
 * a whole word. A long text has two bytes of length. A dim3 takes two words: y and x, then z. Any
 * other value is one word: the value, or the target of an unmarked reference, with ints
 * sign-extended. Runs in the agent: libc's memory functions only. No state. */
#ifndef HK_HOOKS_ARGUMENTS_H
#define HK_HOOKS_ARGUMENTS_H

#include "hooks/signature.h"

#define HK_ARGUMENTS_RESULT HK_HOOK_ARGS /* bit of the marks, and place in the list */
#define HK_ARGUMENTS_TEXT_BYTES 63u	 /* of one text; longer ones are cut */
#define HK_ARGUMENTS_TEXT_CUT 0x80u
#define HK_ARGUMENTS_LONG_BYTES 222u /* of a long text; the room in a record may be less */
#define HK_ARGUMENTS_LONG_CUT 0x8000u

/* How a value is to be shown. */
enum hk_argument_form {
	HK_ARGUMENT_NONE = 0, /* no value: void, or the record does not hold it */
	HK_ARGUMENT_SIGNED,
	HK_ARGUMENT_UNSIGNED,
	HK_ARGUMENT_DOUBLE,
	HK_ARGUMENT_POINTER, /* an address */
	HK_ARGUMENT_HANDLE,  /* shown like a pointer, but 0 is a valid value */
	HK_ARGUMENT_TEXT,
	HK_ARGUMENT_STRUCT, /* passed by value and not kept */
	HK_ARGUMENT_DIM3,   /* shown as x,y,z; `word` holds y and x, `z` the rest */
};

struct hk_argument {
	const char *name; /* not terminated */
	uint8_t name_bytes;
	uint8_t form; /* enum hk_argument_form */
	bool cut;     /* the text is longer than what is kept */
	uint8_t text_bytes;
	const char *text; /* any bytes, not terminated */
	uint64_t word;	  /* as the form says; the bits of a double */
	uint32_t z;
};

struct hk_arguments {
	uint32_t count;
	struct hk_argument result, list[HK_HOOK_ARGS];
};

/* Splits the COUNT words behind a record's named values; the result points into them and into the
 * signature. Returns 0, or -EBADMSG if there are too few words. */
int hk_arguments_read(const struct hk_signature *signature, const uint64_t *words, unsigned count,
		      struct hk_arguments *ret_arguments);

/* Prints a value, a text quoted and escaped, to ROOM of SIZE bytes: cut if necessary, always
 * terminated. Returns the length without the NUL. */
size_t hk_argument_print(const struct hk_argument *argument, char *room, size_t size);

/* Prints a double with six digits in the same way. */
size_t hk_argument_print_double(double value, char *room, size_t size);

#endif
