#include "model.h"

#include <errno.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include "chunk/codec/header.h"
#include "chunk/read/cursor.h"

#define CHAINS 5

/* Size in words of the raw record at `words`. */
static size_t raw_size(const uint64_t *words)
{
	return 2 + (words[1] >> 56);
}

struct file {
	int fd;
	uint64_t end, number;
	struct hk_chunk_writer *writer;
};

static void file_begin(struct file *file)
{
	const struct hk_chunk_options options = {.ticks_per_ns = MODEL_TICKS_PER_NS};

	*file = (struct file){.fd = memfd_create("chunks", MFD_CLOEXEC),
			      .writer = hk_chunk_writer_new(&options)};
}

static void file_end(struct file *file)
{
	hk_chunk_writer_free(file->writer);
	close(file->fd);
}

static void chunk_begin(struct file *file)
{
	const uint8_t process[16] = {1};

	hk_chunk_writer_begin(file->writer, process, ++file->number);
}

static void chunk_end(struct file *file)
{
	const void *bytes;
	size_t size;

	assert_int_equal(hk_chunk_writer_finish(file->writer, 0, &bytes, &size), 0);
	assert_int_equal(hk_chunk_file_append(file->fd, file->end, bytes, size), 0);
	file->end += size;
}

/* Gives the writer some whole records of a chain, a new chunk whenever one is full. */
static void drain(struct file *file, struct model_chain *chain, uint64_t records)
{
	size_t end = chain->next, consumed;

	for (; records && end < chain->count; records--) {
		end += raw_size(chain->words + end);
	}
	while (chain->next < end) {
		int rc =
		    hk_chunk_writer_add(file->writer, &chain->position, chain->words + chain->next,
					end - chain->next, &consumed);
		chain->next += consumed;
		if (rc < 0) {
			assert_int_equal(rc, -ENOSPC);
			chunk_end(file);
			chunk_begin(file);
		}
	}
}

/* Writes all chains to the file, in turns of random length, cut into chunks at random. */
static void write_all(struct file *file, struct model_chain *chains, uint64_t turn)
{
	bool more = true;

	chunk_begin(file);
	while (more) {
		more = false;
		for (int i = 0; i < CHAINS; i++) {
			drain(file, &chains[i], 1 + model_below(turn));
			more |= chains[i].next < chains[i].count;
			if (model_below(8) == 0) {
				chunk_end(file);
				chunk_begin(file);
			}
		}
	}
	chunk_end(file);
}

static void read_all(struct hk_cursor *cursor, struct model *ret_model)
{
	const struct hk_record *records;
	struct model model = {0};
	size_t count;
	int rc;

	while ((rc = hk_cursor_batch(cursor, &records, &count)) > 0) {
		assert_true(count > 0);
		while (model.count + count > model.capacity) {
			model.capacity = model.capacity ? model.capacity * 2 : 1024;
			model.calls = realloc(model.calls, model.capacity * sizeof(*model.calls));
			assert_non_null(model.calls);
		}
		for (size_t i = 0; i < count; i++) {
			model.calls[model.count++] = model_of(&records[i]);
		}
	}
	assert_int_equal(rc, 0);
	*ret_model = model;
}

static void check_order(const struct model *model)
{
	for (size_t i = 1; i < model->count; i++) {
		const struct model_call *a = &model->calls[i - 1], *b = &model->calls[i];
		assert_true(a->start < b->start ||
			    (a->start == b->start && a->duration >= b->duration));
	}
}

static void check_same(struct model *got, struct model *truth)
{
	assert_int_equal(got->count, truth->count);
	model_sort(got);
	model_sort(truth);
	for (size_t i = 0; i < truth->count; i++) {
		assert_memory_equal(&got->calls[i], &truth->calls[i], sizeof(truth->calls[i]));
	}
}

static void one_round(struct hk_loader *loader, size_t calls, uint64_t turn)
{
	struct model truth = {0}, got;
	struct model_chain chains[CHAINS];
	struct hk_cursor *cursor;
	struct file file;

	for (uint32_t i = 0; i < CHAINS; i++) {
		model_chain_begin(&chains[i], i, 1000 + model_below(50000));
	}
	while (truth.count < calls) {
		struct model_chain *chain = &chains[model_below(CHAINS)];
		if (model_below(100) == 0) {
			model_switch(chain, chain->thread + CHAINS, chain->tid + CHAINS);
		}
		model_make_call(&truth, chain, 0);
	}
	file_begin(&file);
	write_all(&file, chains, turn);
	assert_int_equal(hk_cursor_new(loader, file.fd, &cursor), 0);
	read_all(cursor, &got);
	check_order(&got);
	check_same(&got, &truth);
	assert_int_equal(hk_cursor_stats(cursor)->late, 0);
	assert_int_equal(hk_cursor_stats(cursor)->damaged, 0);
	assert_int_equal(hk_cursor_stats(cursor)->records, truth.count);
	assert_int_equal(hk_cursor_stats(cursor)->chunks, file.number);
	hk_cursor_free(cursor);
	file_end(&file);
	free(got.calls);
	free(truth.calls);
	for (int i = 0; i < CHAINS; i++) {
		model_chain_end(&chains[i]);
	}
}

static void test_all_records_come_in_order_of_start(void **state)
{
	struct hk_loader *loader = hk_loader_new();

	(void)state;
	for (int round = 0; round < 60; round++) {
		one_round(loader, 1 + model_below(3000), 1 + model_below(200));
	}
	one_round(loader, 100000, 20000);
	hk_loader_free(loader);
}

static void test_nested_calls_of_one_start_come_outer_first(void **state)
{
	struct hk_loader *loader = hk_loader_new();
	struct model_chain chain;
	struct model got;
	struct hk_cursor *cursor;
	struct file file;

	(void)state;
	/* Ends in order: site 0 is innermost. The durations of sites 2, 3 and 4 are equal, and
	 * chunks part them. */
	const uint64_t durations[] = {5, 6, 30000000, 30000000, 30000000, 30000001};
	file_begin(&file);
	model_chain_begin(&chain, 0, 500);
	chunk_begin(&file);
	for (uint32_t i = 0; i < 6; i++) {
		const struct model_call call = {
		    .start = 500, .duration = durations[i], .site = i, .kind = 1};
		model_raw(&chain, &call);
		drain(&file, &chain, 1);
		if (i != 2) {
			chunk_end(&file);
			chunk_begin(&file);
		}
	}
	chunk_end(&file);
	assert_int_equal(hk_cursor_new(loader, file.fd, &cursor), 0);
	read_all(cursor, &got);
	assert_int_equal(got.count, 6);
	for (uint32_t i = 0; i < 6; i++) {
		assert_int_equal(got.calls[i].site, 5 - i);
	}
	free(got.calls);
	hk_cursor_free(cursor);
	file_end(&file);
	model_chain_end(&chain);
	hk_loader_free(loader);
}

static void test_a_damaged_chunk_is_left_out_and_counted(void **state)
{
	struct hk_loader *loader = hk_loader_new();
	struct model truth = {0}, got;
	struct model_chain chain;
	struct hk_cursor *cursor;
	struct file file;
	uint64_t middle = 0;

	(void)state;
	file_begin(&file);
	model_chain_begin(&chain, 0, 500);
	for (int i = 0; i < 3; i++) {
		struct model skipped = {0};
		middle = i == 1 ? file.end : middle;
		chunk_begin(&file);
		model_make_call(i == 1 ? &skipped : &truth, &chain, 4);
		drain(&file, &chain, UINT64_MAX);
		chunk_end(&file);
		free(skipped.calls);
	}
	/* The header stays sound: only who reads the body can notice. */
	assert_int_equal(
	    pwrite(file.fd, "\0\1\2\3\4\5\6\7", 8, (off_t)middle + HK_CHUNK_HEADER_BYTES), 8);
	assert_int_equal(hk_cursor_new(loader, file.fd, &cursor), 0);
	read_all(cursor, &got);
	check_same(&got, &truth);
	assert_true(hk_cursor_stats(cursor)->damaged >= 1);
	free(got.calls);
	free(truth.calls);
	hk_cursor_free(cursor);
	file_end(&file);
	model_chain_end(&chain);
	hk_loader_free(loader);
}

/* Most memory in use while a file of `chunks` chunks is read, beyond what was in use before. */
static size_t most_memory(unsigned chunks)
{
	struct hk_loader *loader = hk_loader_new();
	const struct hk_record *records;
	struct hk_cursor *cursor;
	struct model_chain chain;
	struct file file;
	size_t count, most = 0;

	file_begin(&file);
	model_chain_begin(&chain, 0, 500);
	for (unsigned i = 0; i < chunks; i++) {
		chunk_begin(&file);
		chain.count = chain.next = 0;
		for (unsigned k = 0; k < 500; k++) {
			const uint64_t length = k % 50 ? 100 : 30000000;
			const struct model_call call = {.start = chain.now,
							.duration = length,
							.site = 1,
							.kind = 1,
							.word_count = 3};
			model_raw(&chain, &call);
			chain.now += length * 3;
		}
		drain(&file, &chain, UINT64_MAX);
		chunk_end(&file);
	}
	struct mallinfo2 before = mallinfo2();
	assert_int_equal(hk_cursor_new(loader, file.fd, &cursor), 0);
	while (hk_cursor_batch(cursor, &records, &count) > 0) {
		struct mallinfo2 now = mallinfo2();
		size_t used = now.uordblks + now.hblkhd - before.uordblks - before.hblkhd;
		most = used > most ? used : most;
	}
	hk_cursor_free(cursor);
	file_end(&file);
	model_chain_end(&chain);
	hk_loader_free(loader);
	return most;
}

static void test_memory_does_not_grow_with_the_file(void **state)
{
	(void)state;
	size_t few = most_memory(10), many = most_memory(400);
	/* 64 bytes a chunk and array doubling; all records in memory would be 30 kB a chunk. */
	assert_true(many < few + 400 * 256);
}

static void test_a_chunk_that_hides_its_start_comes_late_and_whole(void **state)
{
	struct hk_loader *loader = hk_loader_new();
	struct hk_chunk_header header;
	struct model truth = {0}, got;
	struct model_chain chain;
	struct hk_cursor *cursor;
	struct file file;
	size_t size = 0;

	(void)state;
	file_begin(&file);
	model_chain_begin(&chain, 0, 500);
	for (int i = 0; i < 20; i++) {
		chunk_begin(&file);
		model_make_call(&truth, &chain, 0);
		drain(&file, &chain, UINT64_MAX);
		chunk_end(&file);
		size = i == 0 ? file.end : size;
	}
	/* The first chunk says that its records start at the end of time. */
	uint8_t *bytes = malloc(size);
	assert_int_equal(pread(file.fd, bytes, size, 0), size);
	memcpy(&header, bytes, sizeof(header));
	header.lanes_min_start_ticks = header.long_min_start_ticks = UINT64_MAX;
	memcpy(bytes, &header, sizeof(header));
	hk_chunk_header_seal(bytes, size);
	assert_int_equal(pwrite(file.fd, bytes, size, 0), size);
	assert_int_equal(hk_cursor_new(loader, file.fd, &cursor), 0);
	read_all(cursor, &got);
	check_same(&got, &truth);
	assert_true(hk_cursor_stats(cursor)->late > 0);
	free(bytes);
	free(got.calls);
	free(truth.calls);
	hk_cursor_free(cursor);
	file_end(&file);
	model_chain_end(&chain);
	hk_loader_free(loader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_all_records_come_in_order_of_start),
	    cmocka_unit_test(test_nested_calls_of_one_start_come_outer_first),
	    cmocka_unit_test(test_a_damaged_chunk_is_left_out_and_counted),
	    cmocka_unit_test(test_memory_does_not_grow_with_the_file),
	    cmocka_unit_test(test_a_chunk_that_hides_its_start_comes_late_and_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
