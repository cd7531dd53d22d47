#define HOOKTRACE_AGENT
#include "agent/hooktrace.h"

#include "agent/frame/state.h"
#include "agent/object/loader.h"
#include "agent/patch/patch.h"
#include "agent/patch/redirect.h"
#include "agent/patch/wrapped.h"
#include "agent/record/process.h"

#define EXPORTED __attribute__((visibility("default")))

struct replace {
	struct hk_redirect_request request;
	int slots;
};

static int replace_locked(struct dl_phdr_info *info, size_t size, void *data)
{
	struct replace *what = data;
	(void)size;
	hk_patch_refresh(info);
	what->slots = hk_patch_redirect(&what->request);
	return 1;
}

EXPORTED int hk_replace(const char *from, const char *symbol, void *replacement, void **original)
{
	struct replace what = {
	    {hk_patch_hookset(), from ? from : "*", symbol, replacement, original}, -1};
	if (!hk_process.on || hk_process.sealed || hk_in_agent || !symbol ||
	    hk_wrapped_index(symbol) >= 0) {
		return -1;
	}
	uint64_t signals = hk_process_block_signals();
	hk_in_agent = 1;
	hk_loader_iterate(replace_locked, &what);
	hk_in_agent = 0;
	hk_process_restore_signals(signals);
	return what.slots;
}
