/* names.h: callbacks that give a chunk's writer the meaning of numbers in records. */
#ifndef HK_CHUNK_CODEC_NAMES_H
#define HK_CHUNK_CODEC_NAMES_H

#include "chunk/codec/format.h"

/* Definitions of sites and names of threads, requested at finish. Either function may be NULL and
 * may fail (-errno): the definition or the name is then empty. Strings stay the callee's and must
 * last until its next call; only the first HK_CHUNK_STRING_MAX bytes are kept. */
struct hk_chunk_names {
	void *context;
	int (*site)(void *context, uint32_t id, struct hk_chunk_site *ret_site);
	int (*thread)(void *context, uint64_t uid, char ret_name[HK_CHUNK_NAME_BYTES]);
};

#endif
