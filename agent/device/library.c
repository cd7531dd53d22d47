#include "agent/device/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "agent/object/export.h"
#include "agent/object/find.h"
#include "agent/object/loader.h"
#include "agent/record/process.h"
#include "base/identity.h"

const struct hk_device_library hk_device_cupti = {
    .number = 1,
    .variable = "HOOK_CUPTI",
    .pattern = "libcupti.so*",
    .files = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"},
    .functions =
	{
	    [HK_DEVICE_REGISTER] = "cuptiActivityRegisterCallbacks",
	    [HK_DEVICE_ENABLE] = "cuptiActivityEnable",
	    [HK_DEVICE_DISABLE] = "cuptiActivityDisable",
	    [HK_DEVICE_FLUSH] = "cuptiActivityFlushAll",
	    [HK_DEVICE_NEXT] = "cuptiActivityGetNextRecord",
	    [HK_DEVICE_VERSION] = "cuptiGetVersion",
	    [HK_DEVICE_TIMESTAMP] = "cuptiGetTimestamp",
	    [HK_DEVICE_DROPPED] = "cuptiActivityGetNumDroppedRecords",
	    [HK_DEVICE_RUNTIME_CALL] = "cuptiActivityEnableRuntimeApi",
	    [HK_DEVICE_DRIVER_CALL] = "cuptiActivityEnableDriverApi",
	},
    .layouts = hk_device_layouts_cupti,
};

const struct hk_device_library hk_device_mspti = {
    .number = 2,
    .variable = "HOOK_MSPTI",
    .pattern = "libmspti.so*",
    .files = {"libmspti.so", "libmspti.so", "libmspti.so"},
    .functions =
	{
	    [HK_DEVICE_REGISTER] = "msptiActivityRegisterCallbacks",
	    [HK_DEVICE_ENABLE] = "msptiActivityEnable",
	    [HK_DEVICE_DISABLE] = "msptiActivityDisable",
	    [HK_DEVICE_FLUSH] = "msptiActivityFlushAll",
	    [HK_DEVICE_NEXT] = "msptiActivityGetNextRecord",
	},
    .layouts = hk_device_layouts_mspti,
    .plain = true,
};

/* ---- in the loader's lock ---- */

static int find_all(struct dl_phdr_info *info, size_t size, void *data)
{
	struct hk_device_opened *opened = data;
	(void)info;
	(void)size;
	for (int i = 0; i < HK_DEVICE_FUNCTIONS; i++) {
		const char *name = opened->library->functions[i];
		opened->functions[i] =
		    name ? hk_find_function(opened->library->pattern, name) : NULL;
	}
	return 1;
}

/* ---- */

static bool is_complete(const struct hk_device_opened *opened)
{
	for (int i = 0; i < HK_DEVICE_NEEDED; i++) {
		if (!opened->functions[i]) {
			return false;
		}
	}
	return true;
}

static void *open_file(const char *file)
{
	void *(*open)(const char *, int) =
	    (void *(*)(const char *, int))(uintptr_t)hk_find_function("*", "dlopen");
	uint32_t inside = hk_in_agent;
	hk_in_agent = 2; /* what its constructors call is not counted */
	void *handle = open ? open(file, RTLD_NOW | RTLD_LOCAL) : NULL;
	hk_in_agent = inside;
	return handle;
}

static void open_any(const struct hk_device_library *library, char *const *environment)
{
	const char *wanted = hk_identity_variable(environment, library->variable);
	if (wanted && wanted[0]) {
		open_file(wanted);
		return;
	}
	for (size_t i = 0; i < sizeof(library->files) / sizeof(library->files[0]); i++) {
		if (open_file(library->files[i])) {
			return;
		}
	}
}

static int choose_layout(struct hk_device_opened *opened)
{
	int (*version)(uint32_t *) = (int (*)(uint32_t *))opened->functions[HK_DEVICE_VERSION];
	if (version && version(&opened->version) != 0) {
		return -EPROTO;
	}
	for (const struct hk_device_layout *layout = opened->library->layouts; layout->count;
	     layout++) {
		if (opened->version >= layout->from && opened->version <= layout->to) {
			opened->layout = layout;
			return 0;
		}
	}
	return -EPROTO;
}

int hk_device_open(const struct hk_device_library *library, char *const *environment,
		   struct hk_device_opened *ret_opened)
{
	*ret_opened = (struct hk_device_opened){.library = library};
	/* The one that the host has, before any other: two at once disturb each other. */
	if (hk_loader_try(find_all, ret_opened) < 0) {
		return -EBUSY;
	}
	if (!is_complete(ret_opened)) {
		open_any(library, environment);
		if (hk_loader_try(find_all, ret_opened) < 0) {
			return -EBUSY;
		}
	}
	return is_complete(ret_opened) ? choose_layout(ret_opened) : -ENOENT;
}
