#include "collector/link/node.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/rundir.h"
#include "collector/model/job.h"

int hk_node_save_id(int dirfd, const uint8_t id[HK_NODE_ID_BYTES])
{
	int fd = openat(dirfd, HK_RUNDIR_NODE ".new",
			O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0) {
		return -errno;
	}
	ssize_t n = write(fd, id, HK_NODE_ID_BYTES);
	int r = n == HK_NODE_ID_BYTES ? 0 : n < 0 ? -errno : -ENOSPC;
	close(fd);
	if (r == 0 && renameat(dirfd, HK_RUNDIR_NODE ".new", dirfd, HK_RUNDIR_NODE) < 0) {
		r = -errno;
	}
	return r;
}

int hk_node_id(int dirfd, uint8_t id[HK_NODE_ID_BYTES])
{
	int fd = openat(dirfd, HK_RUNDIR_NODE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0) {
		ssize_t n = read(fd, id, HK_NODE_ID_BYTES);
		close(fd);
		if (n == HK_NODE_ID_BYTES) {
			return 0;
		}
	}
	if (getrandom(id, HK_NODE_ID_BYTES, 0) != HK_NODE_ID_BYTES) {
		return -errno;
	}
	return hk_node_save_id(dirfd, id);
}

static int nibble(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

void hk_node_boot(uint8_t boot[HK_NODE_ID_BYTES])
{
	char text[64] = "";
	unsigned digits = 0;
	memset(boot, 0, HK_NODE_ID_BYTES);
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	for (ssize_t i = 0; i < n && digits < 2 * HK_NODE_ID_BYTES; i++) {
		int value = nibble(text[i]);
		if (value >= 0) {
			boot[digits / 2] |= (uint8_t)(value << (digits % 2 ? 0 : 4));
			digits++;
		}
	}
	if (fd >= 0) {
		close(fd);
	}
}
