#include "collector/feed/assembly.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "collector/engine/subject.h"
#include "wire/message.h"

struct hk_assembly {
	char subject[HK_SUBJECT_BYTES];
	UT_hash_handle hh;
	uint64_t first; /* sequence number of part 1 */
	uint64_t came_ns;
	unsigned have, parts;
	uint8_t *bytes;
	size_t size;
};

static void forget(struct hk_assemblies *assemblies, struct hk_assembly *assembly)
{
	HASH_DEL(assemblies->all, assembly);
	free(assembly->bytes);
	free(assembly);
}

static struct hk_assembly *find(const struct hk_assemblies *assemblies, const char *subject)
{
	struct hk_assembly *assembly;
	HASH_FIND_STR(assemblies->all, subject, assembly);
	return assembly;
}

/* Part 1 replaces the parts that were there: its sender has begun again. */
static struct hk_assembly *begin(struct hk_assemblies *assemblies,
				 const struct hk_source_message *message)
{
	struct hk_assembly *old = find(assemblies, message->subject);
	struct hk_assembly *assembly = calloc(1, sizeof(*assembly));
	if (old) {
		forget(assemblies, old);
	}
	if (assembly) {
		snprintf(assembly->subject, sizeof(assembly->subject), "%s", message->subject);
		assembly->first = message->sequence;
		assembly->parts = message->parts;
		HASH_ADD_STR(assemblies->all, subject, assembly);
	}
	return assembly;
}

static int append(struct hk_assembly *assembly, const struct hk_source_message *message)
{
	if (message->size > HK_MESSAGE_BYTES_MAX - assembly->size) {
		return -EBADMSG;
	}
	uint8_t *larger = realloc(assembly->bytes, assembly->size + message->size + 1);
	if (!larger) {
		return -ENOMEM;
	}
	assembly->bytes = larger;
	memcpy(larger + assembly->size, message->bytes, message->size);
	assembly->size += message->size;
	assembly->have++;
	return assembly->have == assembly->parts;
}

int hk_assembly_add(struct hk_assemblies *assemblies, const struct hk_source_message *message,
		    uint64_t now_ns, uint8_t **ret_bytes, size_t *ret_size)
{
	if (strlen(message->subject) >= HK_SUBJECT_BYTES) {
		return -EBADMSG;
	}
	struct hk_assembly *assembly =
	    message->part == 1 ? begin(assemblies, message) : find(assemblies, message->subject);
	if (!assembly) {
		return message->part == 1 ? -ENOMEM : -EBADMSG;
	}
	int r = message->part == assembly->have + 1 && message->parts == assembly->parts
		    ? append(assembly, message)
		    : -EBADMSG;
	assembly->came_ns = now_ns;
	if (r > 0) {
		*ret_bytes = assembly->bytes;
		*ret_size = assembly->size;
		assembly->bytes = NULL;
	}
	if (r != 0) {
		forget(assemblies, assembly);
	}
	return r;
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
		if (assembly->came_ns < limit_ns) {
			forget(assemblies, assembly);
			count++;
		}
	}
	return count;
}

void hk_assembly_free_all(struct hk_assemblies *assemblies)
{
	hk_assembly_expire(assemblies, UINT64_MAX);
}
