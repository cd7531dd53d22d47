#include "collector/feed/assembly.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "collector/engine/subject.h"
#include "wire/message.h"

#define BYTES_MAX (512u << 20) /* of all requests of which parts are missing */
#define COUNT_MAX 4096u
#define KEY_BYTES (HK_SUBJECT_BYTES + 24)

struct hk_assembly {
	char key[KEY_BYTES];
	UT_hash_handle hh;
	uint64_t first; /* sequence number of part 1 */
	uint64_t last;	/* of the last part */
	uint64_t came_ns;
	unsigned have, parts;
	uint8_t *bytes;
	size_t size;
};

static void forget(struct hk_assemblies *assemblies, struct hk_assembly *assembly)
{
	HASH_DEL(assemblies->all, assembly);
	assemblies->bytes -= assembly->size;
	free(assembly->bytes);
	free(assembly);
}

/* Returns false if the subject is none of ours. */
static bool key_of(const struct hk_source_message *message, char key[KEY_BYTES])
{
	int length = snprintf(key, KEY_BYTES, "%s %" PRIu64, message->subject, message->attempt);
	return length > 0 && length < (int)KEY_BYTES && strlen(message->subject) < HK_SUBJECT_BYTES;
}

static struct hk_assembly *find(const struct hk_assemblies *assemblies, const char *key)
{
	struct hk_assembly *assembly;
	HASH_FIND_STR(assemblies->all, key, assembly);
	return assembly;
}

static struct hk_assembly *begin(struct hk_assemblies *assemblies, const char *key,
				 const struct hk_source_message *message, uint64_t now_ns)
{
	struct hk_assembly *assembly = calloc(1, sizeof(*assembly));
	if (assembly) {
		memcpy(assembly->key, key, strlen(key) + 1);
		assembly->first = message->sequence;
		assembly->parts = message->parts;
		assembly->came_ns = now_ns;
		HASH_ADD_STR(assemblies->all, key, assembly);
	}
	return assembly;
}

static int append(struct hk_assemblies *assemblies, struct hk_assembly *assembly,
		  const struct hk_source_message *message)
{
	if (message->size > HK_MESSAGE_BYTES_MAX - assembly->size ||
	    message->size > BYTES_MAX - assemblies->bytes) {
		return -EBADMSG;
	}
	uint8_t *larger = realloc(assembly->bytes, assembly->size + message->size + 1);
	if (!larger) {
		return -ENOMEM;
	}
	assembly->bytes = larger;
	memcpy(larger + assembly->size, message->bytes, message->size);
	assembly->size += message->size;
	assemblies->bytes += message->size;
	assembly->last = message->sequence;
	assembly->have++;
	return 0;
}

int hk_assembly_add(struct hk_assemblies *assemblies, const struct hk_source_message *message,
		    uint64_t now_ns, const void **ret_bytes, size_t *ret_size)
{
	char key[KEY_BYTES];
	if (!key_of(message, key)) {
		return -EBADMSG;
	}
	struct hk_assembly *assembly = find(assemblies, key);
	if (!assembly && (message->part != 1 || HASH_COUNT(assemblies->all) >= COUNT_MAX)) {
		return -EBADMSG;
	}
	if (!assembly && !(assembly = begin(assemblies, key, message, now_ns))) {
		return -ENOMEM;
	}
	/* The last one could not be taken, or the stream was searched for one behind it. */
	bool again = message->sequence <= assembly->last;
	bool next = message->part == assembly->have + 1 && message->parts == assembly->parts;
	int r = again ? 0 : next ? append(assemblies, assembly, message) : -EBADMSG;
	if (r == -EBADMSG) {
		forget(assemblies, assembly);
	}
	if (r == 0 && assembly->have == assembly->parts) {
		*ret_bytes = assembly->bytes;
		*ret_size = assembly->size;
		return 1;
	}
	return r;
}

void hk_assembly_done(struct hk_assemblies *assemblies, const struct hk_source_message *message)
{
	char key[KEY_BYTES];
	struct hk_assembly *assembly = key_of(message, key) ? find(assemblies, key) : NULL;
	if (assembly) {
		forget(assemblies, assembly);
	}
}

uint64_t hk_assembly_first(const struct hk_assemblies *assemblies,
			   const struct hk_source_message *message)
{
	char key[KEY_BYTES];
	const struct hk_assembly *assembly =
	    message->parts > 1 && key_of(message, key) ? find(assemblies, key) : NULL;
	return assembly ? assembly->first : message->sequence;
}

uint64_t hk_assembly_oldest(const struct hk_assemblies *assemblies)
{
	uint64_t oldest = UINT64_MAX;
	const struct hk_assembly *assembly;
	for (assembly = assemblies->all; assembly; assembly = assembly->hh.next) {
		oldest = assembly->first < oldest ? assembly->first : oldest;
	}
	return oldest;
}

unsigned hk_assembly_expire(struct hk_assemblies *assemblies, uint64_t limit_ns)
{
	unsigned count = 0;
	struct hk_assembly *assembly, *next;
	HASH_ITER (hh, assemblies->all, assembly, next) {
		if (assembly->came_ns < limit_ns && assembly->have < assembly->parts) {
			forget(assemblies, assembly);
			count++;
		}
	}
	return count;
}

void hk_assembly_free_all(struct hk_assemblies *assemblies)
{
	struct hk_assembly *assembly, *next;
	HASH_ITER (hh, assemblies->all, assembly, next) {
		forget(assemblies, assembly);
	}
}
