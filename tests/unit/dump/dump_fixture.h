/* dump_fixture.h: what the tests of dumps share: a directory of their own, and rows. */
#ifndef HK_TESTS_DUMP_FIXTURE_H
#define HK_TESTS_DUMP_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "dump/reader.h"
#include "dump/writer.h"

#define FIXTURE_ABOUT "{\"framework\": \"torch\"}"

struct fixture {
	char base[64], directory[80], path[160];
};

static inline void fixture_begin(struct fixture *fixture)
{
	snprintf(fixture->base, sizeof(fixture->base), "/tmp/dump-XXXXXX");
	assert_non_null(mkdtemp(fixture->base));
	snprintf(fixture->directory, sizeof(fixture->directory), "%s/dump", fixture->base);
	snprintf(fixture->path, sizeof(fixture->path), "%s/rank3-%d.hkv", fixture->directory,
		 getpid());
}

static inline void fixture_end(const struct fixture *fixture)
{
	(void)unlink(fixture->path);
	(void)rmdir(fixture->directory);
	(void)rmdir(fixture->base);
}

static inline struct hk_dump_settings fixture_settings(const struct fixture *fixture)
{
	return (struct hk_dump_settings){
	    .directory = fixture->directory, .about = FIXTURE_ABOUT, .rank = 3, .compression = 1};
}

static inline struct hk_dump_writer *fixture_writer(const struct hk_dump_settings *settings)
{
	char reason[256] = "";
	struct hk_dump_writer *writer = hk_dump_writer_open(settings, reason, sizeof(reason));

	assert_string_equal(reason, "");
	return writer;
}

static inline struct hk_dump_file *fixture_read(const struct fixture *fixture)
{
	char reason[256] = "";
	struct hk_dump_file *file = hk_dump_file_open(fixture->path, reason, sizeof(reason));

	assert_string_equal(reason, "");
	return file;
}

/* A row of a tensor with the statistics that its elements have. */
static inline struct hk_dump_row fixture_row(const struct hk_tensor *tensor)
{
	struct hk_dump_row row = {.name = "torch.add",
				  .of = "",
				  .slot = "0",
				  .device = "cpu",
				  .dtype = tensor->dtype,
				  .dimensions = tensor->dimensions,
				  .shape = tensor->shape,
				  .stack = HK_DUMP_NONE};

	assert_int_equal(hk_statistics_take(tensor, &row.statistics), 0);
	return row;
}

#endif
