#include "collector/symbol/mini_symbols.h"

#include <errno.h>
#include <lzma.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SECTION ".gnu_debugdata"
#define BYTES_MOST (256u << 20)
#define PACKED_MOST (64u << 20)
#define MEMORY_MOST (256u << 20) /* of the decoder */
#define PART_BYTES (1u << 16)

static Elf_Data *find_section(const struct hk_elf *file)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(file->elf, &names) < 0) {
		return NULL;
	}
	while ((section = elf_nextscn(file->elf, section))) {
		const char *name = gelf_getshdr(section, &header)
				       ? elf_strptr(file->elf, names, header.sh_name)
				       : NULL;
		if (name && strcmp(name, SECTION) == 0) {
			return header.sh_size <= PACKED_MOST ? elf_rawdata(section, NULL) : NULL;
		}
	}
	return NULL;
}

/* Writes what DECODER makes of its input to FD. Returns 0 or -errno. */
static int unpack(lzma_stream *decoder, int fd)
{
	uint8_t part[PART_BYTES];
	lzma_ret state = LZMA_OK;

	while (state == LZMA_OK && decoder->total_out <= BYTES_MOST) {
		decoder->next_out = part;
		decoder->avail_out = sizeof(part);
		state = lzma_code(decoder, LZMA_FINISH);
		size_t made = sizeof(part) - decoder->avail_out;
		if (write(fd, part, made) != (ssize_t)made) {
			return -ENOSPC;
		}
	}
	return state == LZMA_STREAM_END ? 0 : -ENOEXEC;
}

int hk_mini_symbols_open(const struct hk_elf *file, struct hk_elf *ret_mini)
{
	const Elf_Data *data = find_section(file);
	lzma_stream decoder = LZMA_STREAM_INIT;

	if (!data || !data->d_buf) {
		return -ENOENT;
	}
	int fd = memfd_create("hook-mini-symbols", MFD_CLOEXEC);
	if (fd < 0) {
		return -errno;
	}
	decoder.next_in = data->d_buf;
	decoder.avail_in = data->d_size;
	int r = lzma_stream_decoder(&decoder, MEMORY_MOST, 0) == LZMA_OK ? 0 : -ENOMEM;
	r = r < 0 ? r : unpack(&decoder, fd);
	lzma_end(&decoder);
	if (r < 0) {
		close(fd);
		return r;
	}
	return hk_elf_begin(fd, ret_mini); /* takes the file also if it fails */
}
