/* writer.h: makes chunks out of the raw records that a collector has copied out of a segment.
 *
 * One writer per process image. begin, then add for every range of raw words, until a second has
 * passed or add says that the chunk is full; finish gives the bytes of the chunk, ready for a file
 * or the wire. The definitions of the sites and the names of the threads that occur are asked for
 * at finish, so every chunk explains itself. Raw words are hostile. Threading: locked by the
 * caller. Buffers are kept from chunk to chunk.
 */
#ifndef HK_CHUNK_CODEC_WRITER_H
#define HK_CHUNK_CODEC_WRITER_H

#include <stdbool.h>
#include <stddef.h>

#include "chunk/codec/format.h"
#include "chunk/codec/names.h"

struct hk_chunk_writer;

struct hk_chunk_options {
	double ticks_per_ns; /* to find the end of a call; greater than 0 */
	bool uncompressed;
	struct hk_chunk_names names;
};

/* Makes a writer; NULL when out of memory. */
struct hk_chunk_writer *hk_chunk_writer_new(const struct hk_chunk_options *options);

/* Frees a writer and returns NULL; NULL is fine. */
struct hk_chunk_writer *hk_chunk_writer_free(struct hk_chunk_writer *writer);

/* Starts chunk `number` (1..) of a process image; whatever was added and not finished is dropped.
 */
void hk_chunk_writer_begin(struct hk_chunk_writer *writer, const uint8_t process[16],
			   uint64_t number);

/* Adds raw records from `words`: whole ones, as many as fit, out of the page chain *chain, whose
 * `thread` and `tid` say who wrote the first of them and whose `position` is the byte position of
 * words[0] in the chain. *ret_consumed is set in any case to the number of words dealt with, and
 * *chain moved behind them; the chunk remembers that as the chain's position. 0: all words.
 * -ENOSPC: the chunk is full, finish it and go on in the next one with the rest. -EBADMSG: what
 * follows the consumed words is no record; skip it and note with hk_chunk_writer_mark where reading
 * goes on. -EINVAL: the chain names a thread beyond HK_CHUNK_THREADS_MAX. -ENOMEM: as after
 * -ENOSPC. */
int hk_chunk_writer_add(struct hk_chunk_writer *writer, struct hk_chunk_position *chain,
			const uint64_t *words, size_t count, size_t *ret_consumed);

/* Notes the position of a chain from which nothing was added; -ENOSPC: HK_CHUNK_POSITIONS_MAX
 * chains; -ENOMEM. */
int hk_chunk_writer_mark(struct hk_chunk_writer *writer, const struct hk_chunk_position *chain);

/* Number of records added since begin. */
uint32_t hk_chunk_writer_records(const struct hk_chunk_writer *writer);

/* Forgets the records added since begin, which nobody wants any more; the chunk keeps where the
 * chains were read to. */
void hk_chunk_writer_drop(struct hk_chunk_writer *writer);

/* Completes the chunk; `lost_records` counts those of the process from its start until now. A chunk
 * without records is fine: it carries positions and the loss. The bytes are the writer's and last
 * until the next begin. -ENOMEM: nothing is lost, try again. */
int hk_chunk_writer_finish(struct hk_chunk_writer *writer, uint64_t lost_records,
			   const void **ret_bytes, size_t *ret_size);

#endif
