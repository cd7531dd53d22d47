#include "text/ranks.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define MORE ",..."

const char *hk_ranks_print(char *text, size_t size, const int32_t *ranks, size_t count)
{
	size_t used = 0;

	*text = '\0';
	for (size_t i = 0, next; i < count; i = next) {
		char part[32];
		for (next = i + 1; next < count && ranks[next] == ranks[next - 1] + 1; next++) {
		}
		int length = snprintf(part, sizeof(part), "%s%" PRId32, i > 0 ? "," : "", ranks[i]);
		if (next > i + 1) {
			length += snprintf(part + length, sizeof(part) - (size_t)length,
					   "%c%" PRId32, next > i + 2 ? '-' : ',', ranks[next - 1]);
		}
		bool last = next == count;
		if (used + (size_t)length + (last ? 1 : sizeof(MORE)) > size) {
			snprintf(text + used, size - used, "%s", used > 0 ? MORE : "...");
			return text;
		}
		memcpy(text + used, part, (size_t)length + 1);
		used += (size_t)length;
	}
	return text;
}
