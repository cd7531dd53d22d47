/* arguments.h: the arguments and the result of one call, as words of its record.
 *
 * Behind a record's named values stand, at level record+args: a word of marks (bit i: argument i is
 * given by its address only, HK_ARGUMENTS_RESULT: the result is), then the arguments in order, then
 * the result. A `struct` and a `void` take no word. A text takes one word or more: a byte with its
 * length, its top bit set when the text goes on, then the bytes, then NULs up to a whole word.
 * Anything else is one word: what a reference points to unless marked, else the value, ints widened
 * by their sign. Runs in the agent: libc's memory functions only. No state.
 */
#ifndef HK_HOOKS_ARGUMENTS_H
#define HK_HOOKS_ARGUMENTS_H

#include "hooks/signature.h"

#define HK_ARGUMENTS_RESULT HK_HOOK_ARGS /* bit of the marks, and place in the list */
#define HK_ARGUMENTS_TEXT_BYTES 63u	 /* of one text; longer ones are cut */
#define HK_ARGUMENTS_TEXT_WORDS 8u
#define HK_ARGUMENTS_TEXT_CUT 0x80u

/* How a value is to be shown. */
enum hk_argument_form {
	HK_ARGUMENT_NONE = 0, /* no value: void, or the record does not hold it */
	HK_ARGUMENT_SIGNED,
	HK_ARGUMENT_UNSIGNED,
	HK_ARGUMENT_DOUBLE,
	HK_ARGUMENT_POINTER, /* an address */
	HK_ARGUMENT_HANDLE,  /* shown like one, but 0 is as good as any other */
	HK_ARGUMENT_TEXT,
	HK_ARGUMENT_STRUCT, /* passed by value and not kept */
};

struct hk_argument {
	const char *name; /* not terminated */
	uint8_t name_bytes;
	uint8_t form; /* enum hk_argument_form */
	bool cut;     /* the text goes on */
	uint8_t text_bytes;
	const char *text; /* any bytes, not terminated */
	uint64_t word;	  /* as the form says; the bits of a double */
};

struct hk_arguments {
	uint32_t count;
	struct hk_argument result, list[HK_HOOK_ARGS];
};

/* Takes the COUNT words behind a record's named values apart; the result points into them and into
 * the signature. -EBADMSG: too few. */
int hk_arguments_read(const struct hk_signature *signature, const uint64_t *words, unsigned count,
		      struct hk_arguments *ret_arguments);

/* Writes a value for people, quoted and escaped if it is a text, to ROOM of SIZE bytes (cut if need
 * be, always terminated). Length without the NUL. */
size_t hk_argument_print(const struct hk_argument *argument, char *room, size_t size);

/* The same for a double alone: six digits. */
size_t hk_argument_print_double(double value, char *room, size_t size);

#endif
