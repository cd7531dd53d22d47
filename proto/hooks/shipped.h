/* shipped.h: the hooks files that come with hooktrace, compiled into constant tables at build time.
 * Written by agent/hooks/compile.c from agent/hooks/<name>.hooks; link hk_hooks_shipped. The tables
 * hold offsets, no addresses: the loader relocates nothing in a traced process, and unused pages
 * are never read. Constant data, any thread. */
#ifndef HK_HOOKS_SHIPPED_H
#define HK_HOOKS_SHIPPED_H

#include "hooks/hook.h"
#include "hooks/index.h"

#define HK_SHIPPED_FILES 32u /* most files */

/* One file; its hooks are numbered one after the other. */
struct hk_shipped_file {
	uint32_t name;	/* offset of its text */
	uint32_t first; /* its first hook's number */
	uint32_t count;
	uint32_t automatic; /* number of its hooks that are part of `auto` */
	uint32_t tables;    /* number of its hooks that look into tables of pointers */
};

/* A struct hk_hook with offsets of texts, and the start of its arguments and values in the common
 * arrays. */
struct hk_shipped_hook {
	uint32_t library, symbol, domain;
	uint32_t args, values, stack_rate;
	uint32_t type_sizes; /* offset of its text; 0: none */
	uint16_t flags;
	uint8_t level, auto_level, meaning, error;
	uint8_t result, arg_count, value_count, stack_words;
	uint16_t pending, line;
	uint8_t file, runtime;
};

struct hk_shipped_arg {
	uint32_t name;
	uint8_t type, index;
	uint8_t reference : 1, place : 2, words : 5;
};

/* A struct hk_domain with offsets of texts. */
struct hk_shipped_domain {
	uint32_t name, title, light, dark;
	uint8_t order, idle;
};

/* Tables that hookc writes. */
extern const struct hk_shipped_domain hk_shipped_domain_list[];
extern const unsigned hk_shipped_domain_count;
extern const struct hk_shipped_file hk_shipped_file_list[];
extern const struct hk_shipped_hook hk_shipped_hook_list[];
extern const struct hk_shipped_arg hk_shipped_args[];
extern const struct hk_value hk_shipped_values[];
extern const char hk_shipped_texts[];
extern const unsigned hk_shipped_file_count;
extern const uint32_t hk_shipped_hook_count; /* number of hooks in all files */
extern const uint8_t hk_shipped_pairs[], hk_shipped_filter[];
extern const uint32_t hk_shipped_hashes[], hk_shipped_buckets[], hk_shipped_next[],
    hk_shipped_globs[];
extern const uint32_t hk_shipped_bucket_mask, hk_shipped_glob_count;

/* "libc", "mpi", "blas", "cuda", "nccl", and "deny", whose lines always apply; FILE counts from
 * 0. */
const char *hk_shipped_name(unsigned file);

/* Domain NUMBER, below hk_shipped_domain_count, in order of their files. */
void hk_shipped_domain(unsigned number, struct hk_domain *ret_domain);

/* The file that hook NUMBER comes from. */
unsigned hk_shipped_file_of(uint32_t number);

/* Assembles hook NUMBER, below hk_shipped_hook_count. */
void hk_shipped_get(uint32_t number, struct hk_hook *ret_hook);

/* The index over the hooks of all files. */
void hk_shipped_index(struct hk_index *ret_index);

#endif
