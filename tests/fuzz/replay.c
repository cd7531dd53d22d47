/*
 * Runs one fuzz target over every file of a directory without libFuzzer: each seed whole, cut short
 * and with single bytes damaged. A crash or a sanitizer's report is the failure; so is a directory
 * without seeds.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SEED_MAX_BYTES (4U << 20)
#define VARIANTS_PER_SEED 512

/* A copy of exactly the right size, so that a sanitizer sees the first byte read beyond it. */
static void run_copy(const uint8_t *data, size_t size, size_t flip_at, uint8_t flip)
{
	uint8_t *copy = malloc(size > 0 ? size : 1);

	if (!copy) {
		abort();
	}
	memcpy(copy, data, size);
	if (flip != 0) {
		copy[flip_at] ^= flip;
	}
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

static void run_seed(const uint8_t *data, size_t size)
{
	static const uint8_t flips[] = {0x01, 0x80, 0xff};
	size_t step = size / VARIANTS_PER_SEED + 1;

	run_copy(data, size, 0, 0);
	for (size_t at = 0; at < size; at += step) {
		run_copy(data, at, 0, 0);
		run_copy(data, size, at, flips[at % sizeof(flips)]);
	}
}

static int run_file(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	struct stat st;
	uint8_t *data;
	ssize_t got;

	if (fd < 0 || fstat(fd, &st) != 0 || st.st_size > (off_t)SEED_MAX_BYTES) {
		fprintf(stderr, "%s: cannot read it as a seed: %s\n", name, strerror(errno));
		return -1;
	}
	data = malloc((size_t)st.st_size + 1);
	got = data ? read(fd, data, (size_t)st.st_size) : -1;
	close(fd);
	if (got != st.st_size) {
		fprintf(stderr, "%s: short read\n", name);
		free(data);
		return -1;
	}
	printf("%s: %zd bytes\n", name, got);
	fflush(stdout);
	run_seed(data, (size_t)got);
	free(data);
	return 0;
}

int main(int argc, char **argv)
{
	DIR *dir = argc == 2 ? opendir(argv[1]) : NULL;
	const struct dirent *entry;
	unsigned seeds = 0;

	if (!dir) {
		fprintf(stderr, "usage: replay SEED_DIRECTORY (which exists)\n");
		return 2;
	}
	run_copy((const uint8_t *)"", 0, 0, 0);
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.') {
			continue;
		}
		if (run_file(dirfd(dir), entry->d_name) != 0) {
			return 1;
		}
		seeds++;
	}
	closedir(dir);
	if (seeds == 0) {
		fprintf(stderr, "%s: no seeds\n", argv[1]);
		return 1;
	}
	return 0;
}
