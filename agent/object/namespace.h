/* namespace.h: the link-map namespaces (dlmopen, LD_AUDIT) that a scan cannot see. */
#ifndef HK_AGENT_OBJECT_NAMESPACE_H
#define HK_AGENT_OBJECT_NAMESPACE_H

#include <stdint.h>

#include "agent/object/loaded.h"

struct hk_namespaces {
	uint32_t count;	  /* besides the one of LOADED, not empty */
	uint32_t objects; /* in them, the loader itself not counted; 0: unknown */
};

/* Reads the loader's data for debuggers (DT_DEBUG), which has other namespaces in glibc 2.35 and
 * later. Before that only their existence is known: LIVE then exceeds the number of loaded objects.
 * Under the loader's lock. */
struct hk_namespaces hk_namespaces_hidden(const struct hk_loaded *loaded, unsigned long long live);

#endif
