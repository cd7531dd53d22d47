#include "agent/call/control.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "agent/frame/rules.h"
#include "agent/frame/site_table.h"
#include "agent/patch/patch.h"
#include "agent/record/layout.h"
#include "agent/record/process.h"

static_assert(offsetof(struct hk_process, writer.header) == HK_PROCESS_HEADER, "layout.h");
static_assert(offsetof(struct hk_segment_header, generation) == HK_HEADER_GENERATION, "layout.h");

uint32_t hk_generation_seen;

static bool apply(void)
{
	const struct hk_segment_header *header = hk_process.writer.header;
	uint32_t version = hk_rules_version(header);
	bool rules = hk_rules_are_new(header, version);
	if (!rules && !hk_rules_pause_is_new()) {
		return true; /* a version being written has not raised the generation yet */
	}
	if (!hk_process_lock()) {
		return false;
	}
	/* The segment may have been closed meanwhile. */
	bool changed = hk_process.on && rules && hk_rules_take(header, version);
	changed |= hk_process.on && hk_rules_pause_take();
	if (changed && hk_site_table_relevel_all()) {
		hk_patch_revisit();
	}
	hk_process_unlock();
	return true;
}

void hk_control_pause(bool paused)
{
	hk_rules_pause(paused);
	if (hk_process.on && !hk_process_forked()) {
		/* Release: an agent's thread that sees the new generation sees the wish. */
		atomic_fetch_add_explicit(&hk_process.writer.header->generation, 1,
					  memory_order_release);
	}
}

bool hk_control_apply(uint32_t generation)
{
	/* A process without a segment would read its parent's. */
	bool applied = !hk_process.on || apply();
	hk_generation_seen = applied ? generation : generation - 1;
	hk_patch_refresh_late();
	return applied;
}
