#include "collector/memory/checkpoint.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collector/memory/ledger_image.h"

#define MAGIC 0x31524744454c4b48ull
#define MAJOR HK_LEDGER_IMAGE_MAJOR
#define MINOR 0u
#define UID_BYTES 16

struct head {
	uint64_t magic;
	uint16_t major, minor;
	uint32_t bytes;
	uint8_t uid[UID_BYTES];
	uint64_t number;
	uint64_t reserved;
};
static_assert(sizeof(struct head) == 48, "head of a checkpoint");

static int write_image(int fd, const struct head *head, const struct hk_ledger *ledger)
{
	struct hk_image *image = hk_image_begin(fd);
	if (!image) {
		return -ENOMEM;
	}
	hk_image_put(image, head, sizeof(*head));
	hk_ledger_image_put(ledger, image);
	return hk_image_end_put(image);
}

int hk_checkpoint_write(const char *path, const uint8_t uid[16], uint64_t number,
			const struct hk_ledger *ledger)
{
	char fresh[PATH_MAX];
	struct head head = {.magic = MAGIC,
			    .major = MAJOR,
			    .minor = MINOR,
			    .bytes = sizeof(head),
			    .number = number};
	int length = snprintf(fresh, sizeof(fresh), "%s.new", path);
	if (length < 0 || (size_t)length >= sizeof(fresh)) {
		return -ENAMETOOLONG;
	}
	memcpy(head.uid, uid, UID_BYTES);
	int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0) {
		return -errno;
	}
	int r = write_image(fd, &head, ledger);
	if (close(fd) < 0 && r == 0) {
		r = -errno;
	}
	if (r == 0 && rename(fresh, path) < 0) {
		r = -errno;
	}
	if (r < 0) {
		unlink(fresh);
	}
	return r;
}

static int check_head(const struct head *head, const uint8_t *uid, uint64_t last_number)
{
	if (head->magic != MAGIC) {
		return -EBADMSG;
	}
	if (head->major != MAJOR && head->major != MAJOR - 1) {
		return -EPROTO;
	}
	return head->bytes == sizeof(*head) && memcmp(head->uid, uid, UID_BYTES) == 0 &&
		       head->number <= last_number
		   ? 0
		   : -EBADMSG;
}

static int read_image(int fd, const uint8_t *uid, uint64_t last_number, struct hk_ledger *ledger,
		      uint64_t *ret_number)
{
	struct head head;
	struct hk_image *image = hk_image_begin(fd);
	if (!image) {
		return -ENOMEM;
	}
	int r = hk_image_get(image, &head, sizeof(head));
	r = r < 0 ? r : check_head(&head, uid, last_number);
	r = r < 0 ? r : hk_ledger_image_get(ledger, head.major, image);
	if (r < 0) {
		hk_image_free(image);
		return r;
	}
	*ret_number = head.number;
	return hk_image_end_get(image);
}

int hk_checkpoint_read(const char *path, const uint8_t uid[16], uint64_t last_number,
		       struct hk_ledger *ledger, uint64_t *ret_number)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0) {
		return -errno;
	}
	uint64_t number = 0;
	int r = read_image(fd, uid, last_number, ledger, &number);
	close(fd);
	if (r < 0) {
		hk_ledger_clear(ledger);
		return r;
	}
	*ret_number = number;
	return 0;
}
