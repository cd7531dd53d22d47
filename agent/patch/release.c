#include "agent/patch/release.h"

#include "agent/frame/site.h"
#include "agent/frame/site_table.h"
#include "agent/object/loader.h"
#include "agent/object/object.h"
#include "agent/object/slot.h"

static int release(struct dl_phdr_info *info, size_t size, void *data)
{
	struct hk_slot_pages pages = {0, 0};
	struct hk_object object;
	(void)size;
	(void)data;
	if (hk_object_read(info, &object) < 0) {
		return 0;
	}
	for (size_t i = 0; i < object.plt.count; i++) {
		struct hk_slot slot;
		if (hk_slot_read(&object, &object.plt, i, &slot) && slot.kind == HK_SLOT_PLT &&
		    hk_object_holds(&object, (uintptr_t)slot.at, sizeof(void *)) &&
		    hk_site_is_thunk(*slot.at)) {
			hk_slot_write(&object, &pages, slot.at, hk_site_original(*slot.at));
		}
	}
	hk_slot_close(&pages);
	return 0;
}

void hk_release_all(void)
{
	hk_site_table_pass_all();
	hk_loader_try(release, NULL);
}
