/* pprof_tables.h: texts, mappings, functions and locations of a profile, each numbered once. Its
 * part of the message is written when a number is given. One thread. */
#ifndef HK_CLI_EXPORT_PPROF_PPROF_TABLES_H
#define HK_CLI_EXPORT_PPROF_PPROF_TABLES_H

#include "cli/export/pprof/pprof_file.h"

struct hk_pprof_text;
struct hk_pprof_entry;

/* Begin with {.file = ...}. */
struct hk_pprof_tables {
	struct hk_pprof_file *file;
	struct hk_pprof_text *texts;
	struct hk_pprof_entry *mappings, *functions, *locations;
};

/* Returns the number of TEXT, valid UTF-8, from 0 (the empty text), or -ENOMEM. */
int64_t hk_pprof_text(struct hk_pprof_tables *tables, const char *text);

/* A frame. Texts may be empty. */
struct hk_pprof_frame {
	const char *name, *system_name;
	const char *path, *build_id; /* of the object, and empty without one */
	const char *file;	     /* of the source */
	uint64_t address;
	uint32_t line; /* 0: not known */
};

/* Returns the location of FRAME, which lives as long as TABLES, or NULL without memory. */
const struct hk_pprof_entry *hk_pprof_location(struct hk_pprof_tables *tables,
					       const struct hk_pprof_frame *frame);

/* The number of an entry, from 1 on. */
uint64_t hk_pprof_number(const struct hk_pprof_entry *entry);

/* Writes the mappings, of which all frames are known now. Returns 0 or -ENOMEM. */
int hk_pprof_write_mappings(struct hk_pprof_tables *tables);

void hk_pprof_tables_fini(struct hk_pprof_tables *tables);

#endif
