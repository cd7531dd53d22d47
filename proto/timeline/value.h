/* value.h: what the words of a call mean: named values, arguments, results. Pure functions, any
 * thread. */
#ifndef HK_TIMELINE_VALUE_H
#define HK_TIMELINE_VALUE_H

#include "timeline/call.h"

/* Display form of a recorded word of key KEY (enum hk_key); its name is hk_key_name(KEY). */
enum hk_value_form {
	HK_VALUE_UNNAMED, /* not shown: an unknown key */
	HK_VALUE_UINT64,
	HK_VALUE_INT64,
	HK_VALUE_INT32,	 /* ranks, tags: the low half */
	HK_VALUE_HANDLE, /* addresses and hashes, which are not used as numbers */
	HK_VALUE_DOUBLE, /* the bits of one */
	HK_VALUE_TEXT,	 /* hk_exporter_value_text */
};
enum hk_value_form hk_exporter_value_form(uint8_t key);

/* Returns the text of a value of that form: the kernel's short name, or a grid like "4x2x3". TEXT
 * has room for it. */
#define HK_VALUE_TEXT_BYTES 40u
const char *hk_exporter_value_text(const struct hk_export_site *site, uint8_t key, uint64_t word,
				   char text[HK_VALUE_TEXT_BYTES]);

/* Returns whether WORD of KEY is meaningful: the bytes of a failed call (-1) are not, nor the
 * kernel of a launch inside another one (0). */
bool hk_exporter_has_value(uint8_t key, uint64_t word);

/* Sets the arguments and the result of SLICE, which they point into. Returns false if SLICE has
 * none. */
bool hk_slice_arguments(const struct hk_slice *slice, struct hk_arguments *ret_arguments);

/* Returns whether KEY is among the named values of SLICE. */
bool hk_slice_has(const struct hk_slice *slice, uint8_t key);

/* Writes the name of ARGUMENT, or the value of a text, as valid UTF-8, cut at a character's
 * edge. */
#define HK_ARGUMENT_NAME_BYTES 64
#define HK_ARGUMENT_VALUE_BYTES (3 * HK_ARGUMENTS_LONG_BYTES + 4)
void hk_argument_name(const struct hk_argument *argument, char name[HK_ARGUMENT_NAME_BYTES]);
void hk_argument_text(const struct hk_argument *argument, char text[HK_ARGUMENT_VALUE_BYTES]);

#endif
