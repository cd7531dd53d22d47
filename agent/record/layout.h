/* layout.h: offsets that the trampoline's assembly and the C structs share; checked by
 * static_assert in the C file that knows the field. */
#ifndef HK_AGENT_RECORD_LAYOUT_H
#define HK_AGENT_RECORD_LAYOUT_H

#define HK_THUNKS 16384
#define HK_THUNK_BYTES 64
#define HK_LIGHT_BYTES 128 /* of a thunk's light path, on x86-64 */

/* Thunks that only count (spare.h). */
#define HK_SPARE_THUNKS 114688
#define HK_SPARE_THUNK_BYTES 16

/* Sites without a thunk (frame/plain.h). */
#define HK_PLAIN_SITES 131072

/* struct hk_call, relative to the thunk's frame pointer (the struct ends where the saved frame
 * pointer begins). */
#if defined(__aarch64__)
#define HK_CALL_BYTES 160
#define HK_CALL_INTEGER (-160)
#define HK_CALL_INDIRECT (-96)
#define HK_CALL_RESULT (-88)
#define HK_CALL_RESULT2 (-80)
#define HK_CALL_THREAD (-72)
#define HK_CALL_CELL (-64)
#define HK_CALL_SITE (-56)
#define HK_CALL_START (-48)
#define HK_CALL_SCRATCH (-40)
#define HK_CALL_CHILD (-32)
#define HK_CALL_DOMAINS (-24)
#define HK_CALL_OUTER (-16)
#define HK_CALL_DEPTH (-8)
#else
#define HK_CALL_BYTES 144
#define HK_CALL_RDI (-144)
#define HK_CALL_RSI (-136)
#define HK_CALL_RDX (-128)
#define HK_CALL_RCX (-120)
#define HK_CALL_R8 (-112)
#define HK_CALL_R9 (-104)
#define HK_CALL_RAX (-96)
#define HK_CALL_RESULT2 (-88)
#define HK_CALL_THREAD (-80)
#define HK_CALL_CELL (-72)
#define HK_CALL_SITE (-64)
#define HK_CALL_START (-56)
#define HK_CALL_SCRATCH (-48)
#define HK_CALL_CHILD (-40)
#define HK_CALL_DOMAINS (-32)
#define HK_CALL_OUTER (-24)
#define HK_CALL_DEPTH (-16)
#define HK_CALL_INTEGER HK_CALL_RDI
#define HK_CALL_RESULT HK_CALL_RAX
#endif

/* The thunk's stack frame: the lower half of the eight vector registers of arguments, below struct
 * hk_call. Copied stack words lie below that, as many as there are. */
#define HK_VECTOR_BYTES 64
#define HK_CALL_VECTOR (-HK_CALL_BYTES - HK_VECTOR_BYTES)
#define HK_FRAME_BYTES (HK_VECTOR_BYTES + HK_CALL_BYTES)

/* The copy of stack arguments lies at the same address as they do, modulo this: no type that is
 * passed by value is aligned to more. */
#define HK_STACK_ALIGNMENT 64

/* A kept call (kept.h): struct hk_call with its caller_frame and return_address. HK_THREAD_KEPT
 * points behind the newest one, HK_KEPT_FRAME bytes behind its caller_frame. */
#define HK_KEPT_BYTES (HK_CALL_BYTES + 16)
#define HK_KEPT_FRAME (-16)

/* Return addresses that undescribed calls come from: 1 << BITS places, so many looked at for one
 * address. A place is HK_PLACE_BYTES of code. */
#define HK_CALLERS_BITS 15
#define HK_CALLERS (1 << HK_CALLERS_BITS)
#define HK_CALLERS_TRIES 64
#define HK_CALLERS_HASH 0x9e3779b1
#define HK_PLACE_BYTES 24

/* struct hk_site_hot */
#define HK_HOT_ORIGINAL 0
#define HK_HOT_DOMAIN 8
#define HK_HOT_INDEX 16
#define HK_HOT_STACK_WORDS 20
#define HK_HOT_CONTROL 21
#define HK_HOT_STREAM 23
#define HK_HOT_STEP 24
#define HK_HOT_FLAGS 28
#define HK_HOT_PAYLOAD 29
#define HK_HOT_WORD 30
#define HK_HOT_COPIED_WORDS 37
#define HK_HOT_EXIT 38
#define HK_HOT_WORD1 48
#define HK_HOT_BYTES 64
/* The word with the site's number in the segment, and the bits of the number. */
#define HK_HOT_NUMBER (HK_HOT_WORD1 + 4)
#define HK_NUMBER_MASK 0xfffff

/* HK_HOT_EXIT: the way out, by the clock it reads */
#define HK_EXIT_UNORDERED 0
#define HK_EXIT_ORDERED 1 /* waits for the call's own instructions */
#define HK_EXIT_BY_CALL 2 /* hk_clock_read */

/* HK_HOT_STACK_WORDS: what becomes of the words on the stack, and bits for whatever else the short
 * way in does not do. */
#define HK_STACK_WORDS_COPIED 1	   /* HK_HOT_COPIED_WORDS of them, into the thunk's frame */
#define HK_STACK_WORDS_STAY 2	   /* the call has no frame on the stack: kept.h */
#define HK_STACK_WORDS_DEVICE 0x10 /* calls of a device's API, while device time is wanted */
#define HK_STACK_WORDS_WORK 0x20   /* calls end a stretch of work: work.h */
#define HK_STACK_SHIFT 20	   /* frames 2^20 bytes apart are on different stacks */
#define HK_STACK_WORDS_VECTOR 0x40
#define HK_STACK_WORDS_CLOCK 0x80 /* the clock is a function */

/* HK_HOT_FLAGS, as hot.h has them */
#define HK_FLAG_RECORD 1
#define HK_FLAG_UNUSUAL 2
#define HK_FLAG_QUICK 4
#define HK_FLAG_NULL 32
#define HK_FLAG_LAZY 8
#define HK_HOT_LAZY_BIT 3

/* HK_HOT_WORD: 8-byte word of struct hk_call, and how it is widened; both bits: the word is 0 or
 * the address of an int */
#define HK_WORD_INDEX 0x3f
#define HK_WORD_SIGN32 0x40
#define HK_WORD_ZERO32 0x80
#define HK_WORD_POINTEE 0xc0
#define HK_WORD_NONE 0xff /* the value is not plain */

/* HK_HOT_CONTROL */
#define HK_CONTROL_FRAME 0 /* full path */
#define HK_CONTROL_LIGHT 1 /* count and jump; the full path when the countdown is over */
#define HK_CONTROL_PASS 2  /* jump */
#define HK_CONTROL_STAY 3  /* full path, with the stack arguments left where they are */

/* Level sample: between two calls of a thread that are timed lie HK_SAMPLE_LEAST to HK_SAMPLE_LEAST
 * + 63, by the upper bits of a sum that grows by HK_SAMPLE_STEP (2^32 over the golden ratio). An
 * equal distance would time the same calls of a loop again and again, and others never. */
#define HK_SAMPLE_LEAST 33
#define HK_SAMPLE_SHIFT 26
#define HK_SAMPLE_STEP 0x9e3779b1

/* struct hk_thread */
#define HK_THREAD_READY 0
#define HK_THREAD_BUSY 4
#define HK_THREAD_INNER 8
#define HK_THREAD_SEEN 16
#define HK_THREAD_COUNTDOWN 20
#define HK_THREAD_WIPED 24 /* by a fork, so many bytes */
/* From those to the rest, so that what is wiped of many threads lies in one mapping. A multiple of
 * every page size, and of 4096 below 2^24 for aarch64's instructions. */
#define HK_THREAD_APART 0x800000
#define HK_THREAD_CHILD (HK_THREAD_APART + 0)
#define HK_THREAD_DOMAINS (HK_THREAD_APART + 8)
#define HK_THREAD_SLOT (HK_THREAD_APART + 16)
#define HK_THREAD_GENERATION (HK_THREAD_APART + 24)
#define HK_THREAD_SEGMENT (HK_THREAD_APART + 32)
#define HK_THREAD_TICK_NS (HK_THREAD_APART + 40)
#define HK_THREAD_KEPT (HK_THREAD_APART + 48)
#define HK_THREAD_KEPT_END (HK_THREAD_APART + 56)
#define HK_THREAD_LONG_FROM (HK_THREAD_APART + 64)
#define HK_THREAD_DEPTH (HK_THREAD_APART + 72)
#define HK_THREAD_CROWDED (HK_THREAD_APART + 92)
#define HK_THREAD_TURNS (HK_THREAD_APART + 96)
#define HK_THREAD_CHAIN (HK_THREAD_APART + 104)
#define HK_THREAD_CELLS (HK_THREAD_APART + 184)
#define HK_THREAD_SPARE (HK_THREAD_CELLS + 8 * HK_THUNKS)

/* Of hk_process: the segment's header, and the generation in that. */
#define HK_PROCESS_HEADER 0
#define HK_HEADER_GENERATION 2736

/* struct hk_chain_end (ring/chain.h): three words, and so many words ahead of the cursor are
 * fetched: eight cache lines, longer at 30 ns a record than memory takes to answer. */
#define HK_CHAIN_CURSOR 0
#define HK_CHAIN_END 8
#define HK_CHAIN_PAGE 16
#define HK_RECORDS_AHEAD_WORDS 64

/* struct hk_cell, struct hk_page, struct hk_thread_slot (ring/segment.h) */
#define HK_CELL_TOTAL 16
#define HK_CELL_SELF 24
#define HK_CELL_OUTERMOST 32
#define HK_CELL_MIN 48
#define HK_CELL_MAX 56
#define HK_CELL_OCTAVE 72
#define HK_CELL_INNER 272
#define HK_PAGE_WRITTEN 88
#define HK_PAGE_BODY 128
#define HK_SLOT_DEPTH 16
#define HK_SLOT_OPEN 96
#define HK_SLOT_LOST 32 /* of the first stream */
#define HK_SLOT_UNTIMED 376

#endif
