#define HOOKTRACE_AGENT
#include "agent/sites.h"

#include <stddef.h>

#include "agent/call/plain_call.h"
#include "agent/frame/plain_site.h"
#include "agent/hooktrace.h"
#include "agent/record/process.h"

#define EXPORTED __attribute__((visibility("default")))
#define FUNCTION_BYTES 4095u
#define LIBRARY_BYTES 1023u
#define DOMAIN_BYTES 15u

static_assert(sizeof(struct hk_open) == sizeof(struct hk_plain_call), "hooktrace.h");
static_assert(HK_NO_SITE == HK_PLAIN_NONE, "hooktrace.h");

static uint8_t sites_level;

void hk_sites_start(uint8_t level)
{
	sites_level = level;
}

/* Returns as much of TEXT as counts. No NULL: then OTHERWISE. */
static struct hk_plain_text cut(const char *text, const char *otherwise, size_t most)
{
	struct hk_plain_text cut = {text && *text ? text : otherwise, 0};
	while (cut.bytes < most && cut.start[cut.bytes]) {
		cut.bytes++;
	}
	return cut;
}

EXPORTED uint32_t hk_site_define(const struct hk_site_text *text)
{
	if (!hk_process.on || !text) {
		return HK_NO_SITE;
	}
	struct hk_plain_text domain = cut(text->domain, "user", DOMAIN_BYTES);
	const struct hk_plain_request request = {
	    .hook = hk_plain_site_hook(domain, HK_ERROR_NEVER),
	    .function = cut(text->function, "?", FUNCTION_BYTES),
	    .library = cut(text->library, "*", LIBRARY_BYTES),
	    .level = sites_level,
	};
	uint32_t site = request.hook ? hk_plain_site_define(&request) : HK_PLAIN_NONE;
	if (site == HK_PLAIN_NONE) {
		hk_process_untracked();
	}
	return site;
}

EXPORTED int hk_is_on(uint32_t site)
{
	return hk_plain_call_is_on(site);
}
