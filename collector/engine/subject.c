#include "collector/engine/subject.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define HEX_BYTES 33u

static const char *hex_of(const uint8_t bytes[16], char hex[HEX_BYTES])
{
	for (size_t i = 0; i < 16; i++) {
		snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
	}
	return hex;
}

unsigned hk_subject_partition(const uint8_t node[HK_NODE_ID_BYTES], unsigned partitions)
{
	uint32_t random;
	memcpy(&random, node, sizeof(random));
	return random % partitions;
}

void hk_subject_all_of(unsigned partition, char subject[HK_SUBJECT_BYTES])
{
	snprintf(subject, HK_SUBJECT_BYTES, "hooktrace.data.%u.>", partition);
}

void hk_subject_report(unsigned partition, const uint8_t node[HK_NODE_ID_BYTES],
		       char subject[HK_SUBJECT_BYTES])
{
	char hex[HEX_BYTES];
	snprintf(subject, HK_SUBJECT_BYTES, "hooktrace.data.%u.%s.report", partition,
		 hex_of(node, hex));
}

void hk_subject_chunk(unsigned partition, const uint8_t node[HK_NODE_ID_BYTES],
		      const uint8_t uid[HK_UID_BYTES], char subject[HK_SUBJECT_BYTES])
{
	char hex[HEX_BYTES], process[HEX_BYTES];
	snprintf(subject, HK_SUBJECT_BYTES, "hooktrace.data.%u.%s.chunk.%s", partition,
		 hex_of(node, hex), hex_of(uid, process));
}

void hk_subject_stacks(unsigned partition, const uint8_t node[HK_NODE_ID_BYTES],
		       char subject[HK_SUBJECT_BYTES])
{
	char hex[HEX_BYTES];
	snprintf(subject, HK_SUBJECT_BYTES, "hooktrace.data.%u.%s.stacks", partition,
		 hex_of(node, hex));
}

void hk_subject_report_id(const uint8_t node[HK_NODE_ID_BYTES], uint64_t epoch, uint64_t number,
			  char id[HK_SUBJECT_BYTES])
{
	char hex[HEX_BYTES];
	snprintf(id, HK_SUBJECT_BYTES, "%s-%" PRIu64 "-%" PRIu64, hex_of(node, hex), epoch, number);
}

void hk_subject_stacks_id(const uint8_t node[HK_NODE_ID_BYTES], uint64_t number,
			  char id[HK_SUBJECT_BYTES])
{
	char hex[HEX_BYTES];
	snprintf(id, HK_SUBJECT_BYTES, "%s-stacks-%" PRIu64, hex_of(node, hex), number);
}

void hk_subject_chunk_id(const uint8_t uid[HK_UID_BYTES], uint64_t number,
			 char id[HK_SUBJECT_BYTES])
{
	char hex[HEX_BYTES];
	snprintf(id, HK_SUBJECT_BYTES, "%s-%" PRIu64, hex_of(uid, hex), number);
}
