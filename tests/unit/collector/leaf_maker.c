#include "leaf_maker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "wire/message.h"

uint8_t leaf_node[HK_NODE_ID_BYTES] = {1}, leaf_process[HK_UID_BYTES] = {2};

Hk__LeafReport *leaf_report(uint64_t number)
{
	Hk__Node node = HK__NODE__INIT;
	Hk__Job job = HK__JOB__INIT;
	Hk__Anchor start = HK__ANCHOR__INIT;
	Hk__Process process = HK__PROCESS__INIT;
	Hk__LeafJob part = HK__LEAF_JOB__INIT;
	Hk__LeafReport all = HK__LEAF_REPORT__INIT;
	ProtobufCMessage *owned;
	uint8_t *bytes;
	size_t size;
	node.id = (ProtobufCBinaryData){sizeof(leaf_node), leaf_node};
	job.key = (char *)(uintptr_t)LEAF_KEY;
	job.opened_unix_ns = 1;
	process.uid = (ProtobufCBinaryData){sizeof(leaf_process), leaf_process};
	process.start = &start;
	part.job = &job;
	part.n_processes = 1;
	part.processes = (Hk__Process *[]){&process};
	all.node = &node;
	all.n_jobs = 1;
	all.jobs = (Hk__LeafJob *[]){&part};
	all.number = number;
	assert_int_equal(hk_message_pack(&all.base, &bytes, &size), 0);
	assert_int_equal(hk_message_unpack(&hk__leaf_report__descriptor, bytes, size, &owned), 0);
	free(bytes);
	return (Hk__LeafReport *)owned;
}

struct hk_chunk_header leaf_chunk_header(uint64_t number, uint32_t records)
{
	struct hk_chunk_header header = {
	    .magic = HK_CHUNK_MAGIC,
	    .major = HK_CHUNK_MAJOR,
	    .minor = HK_CHUNK_MINOR,
	    .header_bytes = HK_CHUNK_HEADER_BYTES,
	    .total_bytes = HK_CHUNK_HEADER_BYTES,
	    .number = number,
	    .records = records,
	    .min_start_ticks = UINT64_MAX,
	    .lanes_min_start_ticks = UINT64_MAX,
	    .long_min_start_ticks = UINT64_MAX,
	    .span = HK_CHUNK_HEADER_BYTES,
	};
	memcpy(header.process, leaf_process, sizeof(leaf_process));
	return header;
}

void leaf_chunk(uint64_t number, uint8_t bytes[HK_CHUNK_HEADER_BYTES])
{
	const struct hk_chunk_header header = leaf_chunk_header(number, 0);
	memcpy(bytes, &header, sizeof(header));
	hk_chunk_header_seal(bytes, sizeof(header));
}
