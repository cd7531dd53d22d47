#include "chunk/read/block.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct hk_loader *hk_loader_new(void)
{
	struct hk_loader *loader = calloc(1, sizeof(*loader));

	if (!loader) {
		return NULL;
	}
	loader->reader = hk_chunk_reader_new();
	return loader->reader ? loader : hk_loader_free(loader);
}

struct hk_loader *hk_loader_free(struct hk_loader *loader)
{
	if (loader) {
		hk_chunk_reader_free(loader->reader);
		hk_order_fini(&loader->order);
		free(loader->buffer.bytes);
		free(loader);
	}
	return NULL;
}

/* Copies records in sorted order, with all that they point to, into one allocation. */
static struct hk_chunk_block *copy_sorted(const struct hk_record *records, size_t count,
					  const struct hk_order_item *items,
					  const struct hk_chunk_thread *threads,
					  size_t thread_count)
{
	size_t words = 0;

	for (size_t i = 0; i < count; i++) {
		words += records[i].word_count;
	}
	size_t bytes = sizeof(struct hk_chunk_block) + count * sizeof(*records) +
		       words * sizeof(uint64_t) + thread_count * sizeof(*threads);
	struct hk_chunk_block *block = malloc(bytes);
	if (!block) {
		return NULL;
	}
	struct hk_record *to = (struct hk_record *)(block + 1);
	struct hk_chunk_thread *own_threads = (struct hk_chunk_thread *)(to + count);
	uint64_t *own_words = (uint64_t *)(own_threads + thread_count);
	*block = (struct hk_chunk_block){.records = to, .count = count, .bytes = bytes};
	if (thread_count) {
		memcpy(own_threads, threads, thread_count * sizeof(*threads));
	}
	for (size_t i = 0; i < count; i++) {
		const struct hk_record *record = &records[items[i].index];
		to[i] = *record;
		to[i].thread = own_threads + (record->thread - threads);
		to[i].words = own_words;
		for (unsigned w = 0; w < record->word_count; w++) {
			*own_words++ = record->words[w];
		}
	}
	return block;
}

int hk_chunk_block_load(struct hk_loader *loader, int fd,
			const struct hk_chunk_block_location *place,
			struct hk_chunk_block **ret_block)
{
	const struct hk_chunk_thread *threads;
	const struct hk_record *records;
	size_t thread_count, count;
	int rc;

	if ((rc = hk_chunk_file_read(fd, place->offset, place->chunk_bytes, &loader->buffer)) < 0 ||
	    (rc = hk_chunk_reader_open(loader->reader, loader->buffer.bytes, place->chunk_bytes)) <
		0 ||
	    (rc = hk_chunk_reader_threads(loader->reader, &threads, &thread_count)) < 0 ||
	    (rc = hk_chunk_reader_records(loader->reader, place->type, &records, &count)) < 0 ||
	    (rc = hk_order_sort(&loader->order, records, count)) < 0) {
		return rc;
	}
	struct hk_chunk_block *block =
	    copy_sorted(records, count, loader->order.items, threads, thread_count);
	if (!block) {
		return -ENOMEM;
	}
	block->number = place->number;
	*ret_block = block;
	return 0;
}

struct hk_chunk_block *hk_chunk_block_free(struct hk_chunk_block *block)
{
	free(block);
	return NULL;
}
