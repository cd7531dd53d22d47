#include "text/quantity.h"

#include <inttypes.h>
#include <stdio.h>

const char *hk_quantity_duration(char text[HK_QUANTITY_BYTES], uint64_t ns)
{
	double value = (double)ns;

	if (ns < 1000) {
		snprintf(text, HK_QUANTITY_BYTES, "%uns", (unsigned)ns);
	} else if (ns < 999500) {
		snprintf(text, HK_QUANTITY_BYTES, ns < 9950 ? "%.1fus" : "%.0fus", value / 1e3);
	} else if (ns < 999500000) {
		snprintf(text, HK_QUANTITY_BYTES, ns < 99950000 ? "%.1fms" : "%.0fms", value / 1e6);
	} else if (ns < 99500000000) {
		snprintf(text, HK_QUANTITY_BYTES, ns < 9995000000 ? "%.2fs" : "%.1fs", value / 1e9);
	} else {
		uint64_t seconds = ns / 1000000000u;
		if (seconds < 3600) {
			snprintf(text, HK_QUANTITY_BYTES, "%um%02us", (unsigned)(seconds / 60),
				 (unsigned)(seconds % 60));
		} else {
			snprintf(text, HK_QUANTITY_BYTES, "%" PRIu64 "h%02um", seconds / 3600,
				 (unsigned)(seconds / 60 % 60));
		}
	}
	return text;
}

const char *hk_quantity_seconds(char text[HK_QUANTITY_BYTES], double ns)
{
	int digits = ns >= 995e6 || ns < 500 ? 2 : ns >= 9.95e6 ? 3 : 6;

	snprintf(text, HK_QUANTITY_BYTES, "%.*f", digits, ns / 1e9);
	return text;
}

const char *hk_quantity_time(char text[HK_QUANTITY_BYTES], double ns)
{
	static const char *const units[] = {"ns", "\302\265s", "ms", "s"};
	double value = ns;
	unsigned unit = 0;

	if (ns >= 120e9) {
		uint64_t seconds = (uint64_t)(ns / 1e9 + 0.5);
		unsigned hours = (unsigned)(seconds / 3600);
		unsigned minutes = (unsigned)(seconds / 60 % 60);
		if (hours > 0) {
			snprintf(text, HK_QUANTITY_BYTES, "%u h %02u min", hours, minutes);
		} else {
			snprintf(text, HK_QUANTITY_BYTES, "%u min %02u s", minutes,
				 (unsigned)(seconds % 60));
		}
		return text;
	}
	while (unit < 3 && value >= 999.5) {
		value /= 1000;
		unit++;
	}
	int digits = unit == 0 || value >= 100 ? 0 : value >= 10 ? 1 : 2;
	snprintf(text, HK_QUANTITY_BYTES, "%.*f %s", digits, value, units[unit]);
	return text;
}

const char *hk_quantity_bytes(char text[HK_QUANTITY_BYTES], uint64_t bytes)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = (double)bytes / 1024;
	unsigned unit = 0;

	if (bytes < 1024) {
		snprintf(text, HK_QUANTITY_BYTES, "%u B", (unsigned)bytes);
		return text;
	}
	while (value >= 999.5 && unit < 5) {
		value /= 1024;
		unit++;
	}
	int digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
	snprintf(text, HK_QUANTITY_BYTES, "%.*f %s", digits, value, units[unit]);
	return text;
}

const char *hk_quantity_count(char text[HK_QUANTITY_BYTES], double count)
{
	static const char units[] = "kMGTPE";
	unsigned unit = 0;

	if (count < 99999.5) {
		snprintf(text, HK_QUANTITY_BYTES, count > 0 && count < 9.95 ? "%.1f" : "%.0f",
			 count);
		return text;
	}
	count /= 1000;
	while (count >= 999.5 && unit < 5) {
		count /= 1000;
		unit++;
	}
	snprintf(text, HK_QUANTITY_BYTES, count < 9.95 ? "%.1f%c" : "%.0f%c", count, units[unit]);
	return text;
}
