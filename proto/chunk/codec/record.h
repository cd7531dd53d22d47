/* record.h: one recorded call, as rings hold it (raw words) and as readers see it (struct
 * hk_record). A raw record is 64-bit words: word 0 = start ticks; word 1 = duration ns in the low
 * 32 bits, site in the next 20, kind in 4, number of payload words in 8; then the payload. A
 * duration of HK_CHUNK_RAW_ESCAPE means that the first payload word holds the real one. The layout
 * is that of the segment format; chunk/ keeps its own names for it because it does not link ring/.
 * Plain values, no locking; the producer of a struct hk_record owns what its pointers refer to. */
#ifndef HK_CHUNK_CODEC_RECORD_H
#define HK_CHUNK_CODEC_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#define HK_CHUNK_RAW_HEADER_WORDS 2u
#define HK_CHUNK_RAW_PAYLOAD_MAX 32u /* payload words of a raw record, the escape included */
#define HK_CHUNK_RAW_ESCAPE 0xffffffffu
#define HK_CHUNK_SITES_MAX (1u << 20)
#define HK_CHUNK_THREADS_MAX (1ull << 56) /* upper limit of thread uids */
#define HK_CHUNK_NAME_BYTES 16u		  /* thread name with its NUL */

enum hk_chunk_kind {
	HK_CHUNK_KIND_INVALID = 0,
	HK_CHUNK_KIND_CALL = 1,
	HK_CHUNK_KIND_UNWOUND = 2, /* left by an exception or forced unwinding */
	HK_CHUNK_KIND_FAILED = 4,  /* a call whose result is a failure */
	HK_CHUNK_KIND_THREAD =
	    3, /* words: uid, tid. The page chain belongs to this thread from here on */
	/* A call and a failed one whose last word is the stack of their caller; since 2.3. Readers
	 * never see these two: hk_record_take_stack. */
	HK_CHUNK_KIND_CALL_STACK = 5,
	HK_CHUNK_KIND_FAILED_STACK = 6,
};

/* The thread that made a call, and the stream it used; also the bytes of one entry of a THREADS
 * section. */
struct hk_chunk_thread {
	uint64_t uid; /* ordinal within the process, 1.. */
	uint32_t tid;
	uint32_t stream;
	char name[HK_CHUNK_NAME_BYTES];
};

struct hk_record {
	uint64_t start_ticks;
	uint64_t duration_ns;
	const uint64_t *words; /* `word_count` payload words without the escape */
	const struct hk_chunk_thread *thread;
	uint32_t site;
	uint8_t kind; /* enum hk_chunk_kind */
	uint8_t word_count;
	uint16_t reserved;
	uint32_t stack; /* number of the caller's frame among the process's, from 1 on; 0: none */
};

/* Moves the stack of RECORD, if its kind says that it has one, from its words to `stack`. */
static inline void hk_record_take_stack(struct hk_record *record)
{
	bool failed = record->kind == HK_CHUNK_KIND_FAILED_STACK;

	record->stack = 0;
	if (record->word_count > 0 && (failed || record->kind == HK_CHUNK_KIND_CALL_STACK)) {
		record->kind = failed ? HK_CHUNK_KIND_FAILED : HK_CHUNK_KIND_CALL;
		record->stack = (uint32_t)record->words[--record->word_count];
	}
}

#endif
