#include "text/step_name.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

bool hk_is_step_name(const char *name)
{
	static const char *const begins[] = {"ProfilerStep#", "step"};

	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
		size_t length = strlen(begins[i]);
		if (strncasecmp(name, begins[i], length) == 0) {
			return strspn(name + length, "0123456789 #_:-") == strlen(name + length);
		}
	}
	return false;
}
