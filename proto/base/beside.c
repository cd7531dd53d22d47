#include "base/beside.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int hk_beside(const char *const *places, size_t count, int mode, char ret_path[PATH_MAX])
{
	char self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (length <= 0) {
		return -ENOENT;
	}
	self[length] = '\0';
	*strrchr(self, '/') = '\0';
	for (size_t i = 0; i < count; i++) {
		int written = snprintf(ret_path, PATH_MAX, "%s/%s", self, places[i]);
		if (written < PATH_MAX && access(ret_path, mode) == 0) {
			return 0;
		}
	}
	return -ENOENT;
}
