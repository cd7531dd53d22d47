#include "cli/export/exporter.h"

#include <string.h>

#define EXPORTER_ENTRY(name) &hk_##name##_exporter,
static const struct hk_exporter_ops *const exporters[] = {HK_EXPORTERS(EXPORTER_ENTRY)};

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
