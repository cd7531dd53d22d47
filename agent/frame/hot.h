/* hot.h: the fields of a site that every call reads: one cache line, private to the process. */
#ifndef HK_AGENT_FRAME_HOT_H
#define HK_AGENT_FRAME_HOT_H

#include <stdint.h>

#include "agent/record/layout.h"
#include "hooks/hook.h"
#include "ring/segment.h"

#define likely(condition) __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)

#define HK_HOT_RECORD 1u  /* level is record or more */
#define HK_HOT_UNUSUAL 2u /* the short way out of a call is not for this site */
#define HK_HOT_QUICK 4u	  /* what is unusual may be known without foreign code */
#define HK_HOT_LAZY 8u	  /* the slot still holds a lazy stub: hook it again after the first call */
#define HK_HOT_SIMPLE 16u /* every value is one plain word of struct hk_call: see `word` */
#define HK_HOT_NULL 32u	  /* a result of 0 is an error */
#define HK_HOT_VALUES 64u /* the values are wanted at this level */
#define HK_HOT_ARGUMENTS 128u /* level is record+args or more */

struct hk_message;

struct hk_site_hot {
	void *original;
	uint64_t domain;     /* its bit among the process's domains */
	uint32_t index;	     /* of the site: site_table.h */
	uint8_t stack_words; /* HK_STACK_WORDS_* */
	uint8_t control;     /* HK_CONTROL_* */
	uint8_t level;	     /* enum hk_level */
	uint8_t stream;	     /* enum hk_stream */
	uint32_t step;	 /* subtracted from the thread's countdown by a call: 1 at sample, else 0 */
	uint8_t flags;	 /* HK_HOT_*; changes under calls with the level */
	uint8_t payload; /* named values: the words of a record; the same at every level */
	/* Plain values: the number of an 8-byte word of struct hk_call, and how it is widened
	 * (HK_WORD_*). */
	uint8_t word[HK_HOOK_VALUES];
	uint8_t copied_words; /* of the stack */
	uint8_t exit;	      /* HK_EXIT_* */
	uint8_t bytes;	      /* which value adds to the cell's bytes; HK_HOOK_VALUES: none */
	const struct hk_hook *hook;
	uint64_t
	    word1; /* of a record, but for its duration; has the site's number in the segment */
	const struct hk_message *message; /* how the values are made; NULL: by their factors */
};

/* The thunk kept for calibration; no site is bound to it. */
#define HK_CALIBRATION_SITE (HK_THUNKS - 1u)

/* Returns the number in the segment of the site HOT. */
static inline uint32_t hk_hot_number(const struct hk_site_hot *hot)
{
	return (uint32_t)(hot->word1 >> HK_RECORD_SITE_SHIFT) & (HK_SITES_MAX - 1);
}

extern struct hk_site_hot hk_hot[HK_THUNKS];

#endif
