#include "agent/object/export.h"

#include "agent/object/program.h"
#include "hooks/pattern.h"

int hk_export_find(struct dl_phdr_info *info, size_t size, void *data)
{
	struct hk_export *wanted = data;
	struct hk_object object;
	(void)size;
	if (hk_object_read(info, &object) < 0 ||
	    hk_object_executes(&object, (uintptr_t)hk_export_find) ||
	    !hk_pattern_match_library(wanted->library, hk_program_path_of(&object))) {
		return 0;
	}
	wanted->address = wanted->find(&object, wanted->name);
	return wanted->address != 0;
}
