/* pprof_file.h: a profile message in the making. Its parts are packed one by one: the bytes of a
 * message are those of its fields in any order. One thread. */
#ifndef HK_CLI_EXPORT_PPROF_PPROF_FILE_H
#define HK_CLI_EXPORT_PPROF_PPROF_FILE_H

#include <stdint.h>
#include <stdio.h>

#include "schema/pprof.pb-c.h"

/* Zeroed: empty. */
struct hk_pprof_file {
	uint8_t *bytes;
	size_t size, room;
};

/* Appends the fields of PART. Returns 0 or -ENOMEM. */
int hk_pprof_append(struct hk_pprof_file *file, const Hk__Pprof__Profile *part);

/* Writes FILE to OUTPUT, compressed by gzip. Returns 0 or -errno. */
int hk_pprof_write(const struct hk_pprof_file *file, FILE *output);

void hk_pprof_file_fini(struct hk_pprof_file *file);

#endif
