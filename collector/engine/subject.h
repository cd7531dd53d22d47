/* subject.h: names in the stream engine: of streams, of subjects, of messages. No state.
 *
 * Nodes are spread over partitions. Everything of a node is under one prefix, in the order in which
 * it was stored: its reports, and the chunks of each process. The newest chunk of a process can so
 * be asked for.
 */
#ifndef HK_COLLECTOR_ENGINE_SUBJECT_H
#define HK_COLLECTOR_ENGINE_SUBJECT_H

#include <stdint.h>

#include "collector/model/job.h"
#include "collector/model/process.h"

#define HK_SUBJECT_STREAM "HOOKTRACE"
#define HK_SUBJECT_ALL "hooktrace.data.>"
#define HK_SUBJECT_BYTES 128u
#define HK_SUBJECT_PARTITIONS_MAX 256u

/* Buckets of the engine's key-value store: what stays; what ends by itself. */
#define HK_SUBJECT_STATE "hooktrace-state"
#define HK_SUBJECT_LEASES "hooktrace-leases"
#define HK_SUBJECT_ANSWERS "hooktrace-answers" /* of roots, for leaves */
#define HK_SUBJECT_PARTITIONS "partitions"     /* key in the first: how many there are */

/* Headers of a message. */
#define HK_SUBJECT_NUMBER "Hooktrace-Number" /* of a chunk */
#define HK_SUBJECT_PART "Hooktrace-Part"     /* "2/3 ATTEMPT": a request in several messages */

/* The partition of a node, of PARTITIONS. */
unsigned hk_subject_partition(const uint8_t node[HK_NODE_ID_BYTES], unsigned partitions);
/* All that is stored of a partition. */
void hk_subject_all_of(unsigned partition, char subject[HK_SUBJECT_BYTES]);
/* What a node's reports are stored under. */
void hk_subject_report(unsigned partition, const uint8_t node[HK_NODE_ID_BYTES],
		       char subject[HK_SUBJECT_BYTES]);
/* What the chunks of process UID of a node are stored under. */
void hk_subject_chunk(unsigned partition, const uint8_t node[HK_NODE_ID_BYTES],
		      const uint8_t uid[HK_UID_BYTES], char subject[HK_SUBJECT_BYTES]);

/* What stacks of a node's threads are stored under. */
void hk_subject_stacks(unsigned partition, const uint8_t node[HK_NODE_ID_BYTES],
		       char subject[HK_SUBJECT_BYTES]);

/* The id by which the engine knows a message that comes again: of a report, of stacks, of a chunk.
 */
void hk_subject_report_id(const uint8_t node[HK_NODE_ID_BYTES], uint64_t epoch, uint64_t number,
			  char id[HK_SUBJECT_BYTES]);
void hk_subject_stacks_id(const uint8_t node[HK_NODE_ID_BYTES], uint64_t number,
			  char id[HK_SUBJECT_BYTES]);
void hk_subject_chunk_id(const uint8_t uid[HK_UID_BYTES], uint64_t number,
			 char id[HK_SUBJECT_BYTES]);

#endif
