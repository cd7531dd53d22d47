#include "collector/symbol/perf_map.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAP_BYTES_MOST (1u << 30)
#define LINE_BYTES (HK_PERF_MAP_NAME_BYTES + 64)
#define SECOND_NS UINT64_C(1000000000)

static bool is_of_process(const struct stat *status, uint64_t start_unix_ns)
{
	uint64_t written = (uint64_t)status->st_mtim.tv_sec * SECOND_NS;

	/* Times of some file systems are whole seconds. */
	return S_ISREG(status->st_mode) && status->st_uid == geteuid() &&
	       written + SECOND_NS >= start_unix_ns;
}

int hk_perf_map_open(const char *root, uint32_t pid, uint64_t start_unix_ns, FILE **ret_map)
{
	char path[PATH_MAX];
	struct stat status;

	if (snprintf(path, sizeof(path), "%s/tmp/perf-%" PRIu32 ".map", root, pid) >=
	    (int)sizeof(path)) {
		return -ENAMETOOLONG;
	}
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);
	if (fd < 0) {
		return -errno;
	}
	if (fstat(fd, &status) < 0 || !is_of_process(&status, start_unix_ns)) {
		close(fd);
		return -EPERM;
	}
	*ret_map = fdopen(fd, "r");
	if (!*ret_map) {
		int error = errno;
		close(fd);
		return -error;
	}
	return 0;
}

/* Reads a hexadecimal number and the space behind it. Returns what follows, or NULL. */
static const char *read_number(const char *text, uint64_t *ret_number)
{
	static const char digits[] = "0123456789abcdef";
	unsigned count = 0;

	*ret_number = 0;
	text += strncmp(text, "0x", 2) == 0 ? 2 : 0;
	for (; *text && *text != ' '; text++, count++) {
		const char *digit =
		    strchr(digits, *text >= 'A' && *text <= 'F' ? *text + 32 : *text);
		if (!digit || count == 16) {
			return NULL;
		}
		*ret_number = *ret_number << 4 | (uint64_t)(digit - digits);
	}
	return *text && count > 0 ? text + 1 : NULL;
}

/* Returns the index of the first address from START on. */
static size_t first_from(const uint64_t *addresses, size_t count, uint64_t start)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (addresses[middle] < start) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

static void read_line(const char *line, const uint64_t *addresses, size_t count,
		      struct hk_perf_map_name *ret_names)
{
	uint64_t start, size;
	const char *name = read_number(line, &start);

	name = name ? read_number(name, &size) : NULL;
	if (!name || !*name || *name == '\n') {
		return;
	}
	for (size_t i = first_from(addresses, count, start);
	     i < count && addresses[i] - start < size; i++) {
		size_t length = strcspn(name, "\n");
		length = length < HK_PERF_MAP_NAME_BYTES ? length : HK_PERF_MAP_NAME_BYTES - 1;
		memcpy(ret_names[i].text, name, length);
		ret_names[i].text[length] = '\0';
	}
}

void hk_perf_map_find(FILE *map, const uint64_t *addresses, size_t count,
		      struct hk_perf_map_name *ret_names)
{
	char line[LINE_BYTES];
	size_t bytes = 0;
	bool whole = true; /* the line begins here */

	for (size_t i = 0; i < count; i++) {
		ret_names[i].text[0] = '\0';
	}
	while (bytes < MAP_BYTES_MOST && fgets(line, sizeof(line), map)) {
		size_t length = strlen(line);
		bool ended = length > 0 && line[length - 1] == '\n';
		/* The program may be in the middle of the last line: one that does not end is
		 * left out, unless its name is too long for the buffer. */
		if (whole && (ended || length == sizeof(line) - 1)) {
			read_line(line, addresses, count, ret_names);
		}
		whole = ended;
		/* A NUL ends the reading: a file without text may be larger than any disk. */
		if (!ended && length < sizeof(line) - 1) {
			return;
		}
		bytes += length;
	}
}
