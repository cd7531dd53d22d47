#include "exporters/exporter.h"

#include <string.h>

#include "hooks/hook.h"

static const struct hk_exporter_ops *const exporters[] = {
    &hk_perfetto_exporter,
    &hk_chrome_exporter,
};

#define EXPORTER_COUNT (sizeof(exporters) / sizeof(exporters[0]))

const struct hk_exporter_ops *hk_exporter_find(const char *format)
{
	for (size_t i = 0; i < EXPORTER_COUNT; i++) {
		if (strcmp(exporters[i]->format, format) == 0) {
			return exporters[i];
		}
	}
	return NULL;
}

const struct hk_exporter_ops *hk_exporter_at(size_t index)
{
	return index < EXPORTER_COUNT ? exporters[index] : NULL;
}

enum hk_value_form hk_exporter_value_form(uint8_t key)
{
	switch (key) {
	case HK_KEY_NONE:
		return HK_VALUE_UNNAMED;
	case HK_KEY_POINTER:
	case HK_KEY_OLD_POINTER:
	case HK_KEY_COMM:
	case HK_KEY_NEW_COMM:
	case HK_KEY_STREAM:
		return HK_VALUE_HANDLE;
	case HK_KEY_PEER:
	case HK_KEY_TAG:
	case HK_KEY_FD:
	case HK_KEY_DEVICE:
		return HK_VALUE_INT32;
	case HK_KEY_RESULT:
		return HK_VALUE_INT64;
	default:
		return key <= HK_KEY_RESULT ? HK_VALUE_UINT64 : HK_VALUE_UNNAMED;
	}
}
