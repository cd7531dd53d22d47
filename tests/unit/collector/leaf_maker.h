/* leaf_maker.h: what a leaf sends about a job of one process. All failures end the test. */
#ifndef HK_TEST_LEAF_MAKER_H
#define HK_TEST_LEAF_MAKER_H

#include "chunk/codec/header.h"
#include "collector/model/job.h"
#include "collector/model/process.h"
#include "schema/wire.pb-c.h"

#define LEAF_KEY "j"

extern uint8_t leaf_node[HK_NODE_ID_BYTES], leaf_process[HK_UID_BYTES];

/* Report NUMBER of the leaf. The caller frees it. */
Hk__LeafReport *leaf_report(uint64_t number);

struct hk_chunk_header leaf_chunk_header(uint64_t number, uint32_t records);

/* Chunk NUMBER of the process, without records. */
void leaf_chunk(uint64_t number, uint8_t bytes[HK_CHUNK_HEADER_BYTES]);

#endif
