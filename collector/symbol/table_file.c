#include "collector/symbol/table_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define VERSION 1u
#define ENDING ".symbols"
#define NAME_BYTES (2 * HK_ELF_BUILD_ID_MOST + sizeof(ENDING))
#define FILE_BYTES_MOST ((size_t)HK_TABLE_FILES_BYTES_MOST / 2)

static const char magic[8] = "hk-symb";

/* Followed by the symbols, then by the names. In the byte order of this machine: of another one the
 * magic and the version do not match. */
struct header {
	char magic[8];
	uint32_t version;
	uint32_t symbol_bytes; /* of one */
	uint64_t count, names_bytes;
	uint64_t checksum; /* of all behind the header */
	uint8_t build_id[HK_ELF_BUILD_ID_MOST];
	uint64_t build_id_bytes;
};

/* ---- directory ---- */

/* Opens directory NAME below DIRFD, which it makes if need be. */
static int enter(int dirfd, const char *name)
{
	if (mkdirat(dirfd, name, 0700) < 0 && errno != EEXIST) {
		return -errno;
	}
	int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 ? -errno : fd;
}

static int enter_and_leave(int dirfd, const char *name)
{
	int fd = enter(dirfd, name);

	close(dirfd);
	return fd;
}

/* Opens the user's cache directory, which it makes if need be. */
static int open_cache(void)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char path[PATH_MAX];

	if (cache && *cache == '/') {
		snprintf(path, sizeof(path), "%s", cache);
	} else if (home && *home == '/') {
		snprintf(path, sizeof(path), "%s/.cache", home);
	} else {
		return -ENOENT;
	}
	if (mkdir(path, 0700) < 0 && errno != EEXIST) {
		return -errno;
	}
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int hk_table_files_open(void)
{
	int fd = open_cache();
	struct stat status;

	fd = fd < 0 ? fd : enter_and_leave(fd, "hooktrace");
	fd = fd < 0 ? fd : enter_and_leave(fd, "symbols");
	if (fd >= 0 && (fstat(fd, &status) < 0 || status.st_uid != geteuid() ||
			(status.st_mode & (S_IWGRP | S_IWOTH)))) {
		close(fd);
		return -EPERM;
	}
	return fd;
}

static void name_of(char name[NAME_BYTES], const uint8_t *build_id, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		snprintf(name + 2 * i, 3, "%02x", build_id[i]);
	}
	memcpy(name + 2 * bytes, ENDING, sizeof(ENDING));
}

static bool is_named(size_t build_id_bytes)
{
	return build_id_bytes >= 8 && build_id_bytes <= HK_ELF_BUILD_ID_MOST;
}

/* ---- reading ---- */

static int check(const struct header *header, size_t size, const uint8_t *build_id, size_t bytes)
{
	if (size < sizeof(*header) || memcmp(header->magic, magic, sizeof(magic)) != 0 ||
	    header->version != VERSION || header->symbol_bytes != sizeof(struct hk_symbol) ||
	    header->build_id_bytes != bytes || memcmp(header->build_id, build_id, bytes) != 0) {
		return -EBADMSG;
	}
	size_t rest = size - sizeof(*header);
	const char *content = (const char *)(header + 1);
	if (header->count > rest / sizeof(struct hk_symbol) || header->names_bytes == 0 ||
	    header->names_bytes != rest - header->count * sizeof(struct hk_symbol) ||
	    content[rest - 1] != '\0') {
		return -EBADMSG;
	}
	return XXH3_64bits(content, rest) == header->checksum ? 0 : -EBADMSG;
}

static int map_table(int fd, size_t size, const uint8_t *build_id, size_t build_id_bytes,
		     struct hk_symbol_table **ret_table)
{
	void *base = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);

	if (base == MAP_FAILED) {
		return -errno;
	}
	const struct header *header = base;
	int r = check(header, size, build_id, build_id_bytes);
	if (r == 0) {
		const struct hk_symbols_content content = {
		    .symbols = (const struct hk_symbol *)(header + 1),
		    .count = header->count,
		    .names = (const char *)(header + 1) + header->count * sizeof(struct hk_symbol),
		    .names_bytes = header->names_bytes,
		};
		*ret_table = hk_symbol_table_map(&content, base, size);
		r = *ret_table ? 0 : -ENOMEM;
	}
	if (r < 0) {
		munmap(base, size);
	}
	return r;
}

int hk_table_file_load(int dirfd, const uint8_t *build_id, size_t build_id_bytes,
		       struct hk_symbol_table **ret_table)
{
	char name[NAME_BYTES];
	struct stat status;

	if (!is_named(build_id_bytes)) {
		return -ENOENT;
	}
	name_of(name, build_id, build_id_bytes);
	int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0) {
		return -errno;
	}
	int r = fstat(fd, &status) < 0 ? -errno : 0;
	if (r == 0 && (!S_ISREG(status.st_mode) || status.st_uid != geteuid())) {
		r = -EPERM;
	}
	if (r == 0 && (status.st_size < (off_t)sizeof(struct header) ||
		       status.st_size > (off_t)FILE_BYTES_MOST)) {
		r = -EBADMSG;
	}
	r = r < 0 ? r : map_table(fd, (size_t)status.st_size, build_id, build_id_bytes, ret_table);
	close(fd);
	if (r == 0) {
		utimensat(dirfd, name, NULL, AT_SYMLINK_NOFOLLOW); /* it was used */
	} else if (r == -EBADMSG) {
		unlinkat(dirfd, name, 0);
	}
	return r;
}

/* ---- writing ---- */

struct stored {
	char *name;
	size_t bytes;
	struct timespec used;
};

static int by_use(const void *a, const void *b)
{
	const struct stored *x = a, *y = b;

	if (x->used.tv_sec != y->used.tv_sec) {
		return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
	}
	return (x->used.tv_nsec > y->used.tv_nsec) - (x->used.tv_nsec < y->used.tv_nsec);
}

/* Lists the files of the directory. Returns how many there are, or -ENOMEM. */
static ssize_t list(DIR *directory, struct stored **ret_files)
{
	struct dirent *entry;
	struct stat status;
	ssize_t count = 0;

	*ret_files = NULL;
	while ((entry = readdir(directory))) {
		if (*entry->d_name == '.' ||
		    fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0) {
			continue;
		}
		struct stored *larger =
		    reallocarray(*ret_files, (size_t)count + 1, sizeof(*larger));
		char *name = strdup(entry->d_name);
		*ret_files = larger ? larger : *ret_files;
		if (!larger || !name) {
			free(name);
			return count;
		}
		larger[count++] = (struct stored){name, (size_t)status.st_size, status.st_mtim};
	}
	return count;
}

/* Removes files that were not used for the longest time, until MORE bytes have room. */
static void make_room(int directory, size_t more)
{
	int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	struct stored *files;
	size_t sum = more;

	if (!stream) {
		if (fd >= 0) {
			close(fd);
		}
		return;
	}
	ssize_t count = list(stream, &files);
	for (ssize_t i = 0; i < count; i++) {
		sum += files[i].bytes;
	}
	if (count > 1) {
		qsort(files, (size_t)count, sizeof(*files), by_use);
	}
	for (ssize_t i = 0; i < count; i++) {
		if (sum > HK_TABLE_FILES_BYTES_MOST && unlinkat(directory, files[i].name, 0) == 0) {
			sum -= files[i].bytes;
		}
		free(files[i].name);
	}
	free(files);
	closedir(stream);
}

static int write_all(int fd, const void *bytes, size_t size)
{
	while (size > 0) {
		ssize_t written = write(fd, bytes, size);
		if (written < 0 && errno == EINTR) {
			continue;
		}
		if (written <= 0) {
			return written < 0 ? -errno : -EIO;
		}
		bytes = (const char *)bytes + written;
		size -= (size_t)written;
	}
	return 0;
}

static int write_table(int fd, struct header *header, const struct hk_symbols_content *content)
{
	size_t symbols_bytes = content->count * sizeof(*content->symbols);
	XXH3_state_t *state = XXH3_createState();

	if (!state) {
		return -ENOMEM;
	}
	XXH3_64bits_reset(state);
	XXH3_64bits_update(state, content->symbols, symbols_bytes);
	XXH3_64bits_update(state, content->names, content->names_bytes);
	header->checksum = XXH3_64bits_digest(state);
	XXH3_freeState(state);
	int r = write_all(fd, header, sizeof(*header));
	r = r < 0 ? r : write_all(fd, content->symbols, symbols_bytes);
	return r < 0 ? r : write_all(fd, content->names, content->names_bytes);
}

int hk_table_file_store(int dirfd, const uint8_t *build_id, size_t build_id_bytes,
			const struct hk_symbol_table *table)
{
	const struct hk_symbols_content content = hk_symbol_table_content(table);
	size_t size =
	    sizeof(struct header) + content.count * sizeof(*content.symbols) + content.names_bytes;
	struct header header = {.version = VERSION,
				.symbol_bytes = sizeof(struct hk_symbol),
				.count = content.count,
				.names_bytes = content.names_bytes,
				.build_id_bytes = build_id_bytes};
	char name[NAME_BYTES], unfinished[NAME_BYTES + 16];

	if (!is_named(build_id_bytes) || content.names_bytes == 0 || size > FILE_BYTES_MOST) {
		return -EFBIG;
	}
	memcpy(header.magic, magic, sizeof(magic));
	memcpy(header.build_id, build_id, build_id_bytes);
	name_of(name, build_id, build_id_bytes);
	snprintf(unfinished, sizeof(unfinished), "%s.%d", name, (int)getpid());
	make_room(dirfd, size);
	int fd =
	    openat(dirfd, unfinished, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0) {
		return -errno;
	}
	/* Bytes that a power failure keeps from the disk fail the checksum. */
	int r = write_table(fd, &header, &content);
	r = close(fd) < 0 && r == 0 ? -errno : r;
	r = r == 0 && renameat(dirfd, unfinished, dirfd, name) < 0 ? -errno : r;
	if (r < 0) {
		unlinkat(dirfd, unfinished, 0);
	}
	return r;
}
