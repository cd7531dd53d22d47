/* writer.h: makes chunks out of the raw records that a collector has copied out of a segment. One
 * writer per process image. Call begin, then add for every range of raw words, until a second has
 * passed or add reports a full chunk; finish gives the bytes of the chunk, ready for a file or the
 * wire. The definitions of sites and the names of threads are requested at finish, so every chunk
 * is self-describing. Raw words are hostile. Threading: locked by the caller. Buffers are kept from
 * chunk to chunk. */
#ifndef HK_CHUNK_CODEC_WRITER_H
#define HK_CHUNK_CODEC_WRITER_H

#include <stdbool.h>
#include <stddef.h>

#include "chunk/codec/format.h"
#include "chunk/codec/names.h"

struct hk_chunk_writer;

struct hk_chunk_options {
	double ticks_per_ns; /* converts durations to find the end of a call; greater than 0 */
	bool uncompressed;
	struct hk_chunk_names names;
};

/* Makes a writer; NULL if out of memory. */
struct hk_chunk_writer *hk_chunk_writer_new(const struct hk_chunk_options *options);

/* Frees a writer and returns NULL; accepts NULL. */
struct hk_chunk_writer *hk_chunk_writer_free(struct hk_chunk_writer *writer);

/* Starts chunk `number` (1..) of a process image; drops what was added and not finished. */
void hk_chunk_writer_begin(struct hk_chunk_writer *writer, const uint8_t process[16],
			   uint64_t number);

/* Adds raw records from `words`: whole ones, as many as fit, out of the page chain *chain. Its
 * `thread` and `tid` name the writer of the first record; its `position` is the byte position of
 * words[0] in the chain. Always sets *ret_consumed to the number of words dealt with and moves
 * *chain behind them; the chunk stores that as the chain's position. Returns 0 if all words were
 * added; -ENOSPC if the chunk is full: finish it, and add the rest to the next one; -EBADMSG if an
 * invalid record follows the consumed words: skip it, and call hk_chunk_writer_mark with the new
 * position; -EINVAL if the chain names a thread beyond HK_CHUNK_THREADS_MAX; -ENOMEM, to be handled
 * like -ENOSPC. */
int hk_chunk_writer_add(struct hk_chunk_writer *writer, struct hk_chunk_position *chain,
			const uint64_t *words, size_t count, size_t *ret_consumed);

/* Sets the position of a chain without adding records. Returns 0, -ENOSPC beyond
 * HK_CHUNK_POSITIONS_MAX chains, or -ENOMEM. */
int hk_chunk_writer_mark(struct hk_chunk_writer *writer, const struct hk_chunk_position *chain);

/* Number of records added since begin. */
uint32_t hk_chunk_writer_records(const struct hk_chunk_writer *writer);

/* Drops the records added since begin; the chunk keeps the positions of the chains. */
void hk_chunk_writer_drop(struct hk_chunk_writer *writer);

/* Completes the chunk; `lost_records` counts those of the process from its start until now. A chunk
 * without records is valid: it carries positions and the loss. The bytes are the writer's and last
 * until the next begin. Returns 0, or -ENOMEM without losing records: call it again. */
int hk_chunk_writer_finish(struct hk_chunk_writer *writer, uint64_t lost_records,
			   const void **ret_bytes, size_t *ret_size);

#endif
