/* code.h: which object's code lies at an address, and where its unwind table is.
 *
 * Scans keep it (patch/patch.h). Look-ups take no lock and make no system call: a thread may ask
 * while another one changes it, and then finds an object as it was before or after, or none.
 */
#ifndef HK_AGENT_STACK_CODE_H
#define HK_AGENT_STACK_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/object/object.h"
#include "agent/stack/table.h"
#include "ring/segment.h"

struct hk_code {
	struct hk_span span; /* from the first executable segment to the last */
	uintptr_t base;	     /* added to every address in the file */
	struct hk_table table;
	const char *path; /* lives as long as the process */
	uint8_t build_id[HK_BUILD_ID_BYTES];
	uint32_t build_id_bytes; /* 0: it has none */
	uint32_t number;	 /* of this loading of the object, 1 and up, never used again */
};

/* Adds OBJECT at PATH, unless it is known and unchanged. Returns false without memory. One thread
 * at a time. */
bool hk_code_add(const struct hk_object *object, const char *path);

/* Forgets the objects within SPAN, which are unloaded. One thread at a time. */
void hk_code_forget(struct hk_span span);

/* Rises with every change: what was derived from addresses before may be wrong. */
uint64_t hk_code_version(void);

/* Objects may have been replaced by others at the same addresses. */
void hk_code_note_change(void);

/* Finds the object whose code holds ADDRESS. Returns false if there is none. */
bool hk_code_find(uintptr_t address, struct hk_code *ret_code);

#endif
