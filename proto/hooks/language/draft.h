/* draft.h: one line of a hooks file while it is being parsed. A draft holds a hook whose texts
 * still point into the file, and what only the parser needs: which arguments are MPI handles or
 * character buffers, and which Fortran forms the line asks for. Lives on the parser's stack. */
#ifndef HK_HOOKS_LANGUAGE_DRAFT_H
#define HK_HOOKS_LANGUAGE_DRAFT_H

#include <stdbool.h>

#include "hooks/hook.h"
#include "hooks/language/scan.h"

#define HK_DRAFT_HIDDEN 8u /* most hidden integer arguments a line may ask for */

/* What a type word says beyond enum hk_hook_type. */
enum hk_draft_kind {
	HK_DRAFT_PLAIN = 0,
	HK_DRAFT_HANDLE, /* opaque: a word in C, an int in Fortran */
	HK_DRAFT_CHARS,	 /* characters: Fortran adds their length after the last argument */
};

enum hk_draft_fortran {
	HK_DRAFT_FORTRAN_TOO = 0, /* the C name, and Fortran names where the file has them on */
	HK_DRAFT_FORTRAN_OFF,
	HK_DRAFT_FORTRAN_ONLY,
};

struct hk_draft {
	struct hk_hook hook; /* no texts yet */
	struct hk_word library;
	struct hk_word symbol;
	struct hk_word from; /* length 0: any caller */
	struct hk_word names[HK_HOOK_ARGS];
	uint8_t kinds[HK_HOOK_ARGS]; /* enum hk_draft_kind */
	struct hk_word also;	     /* ending of a second symbol with the same signature */
	uint8_t hidden;		     /* integer arguments after the described ones */
	uint8_t fortran;	     /* enum hk_draft_fortran */
	bool stack;		     /* the line gives the stack words */
};

#endif
