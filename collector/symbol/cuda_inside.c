#include "collector/symbol/cuda_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES_MOST 1024u
#define PART_BYTES (1u << 20)
#define OVERLAP 64u /* longer than any text */
#define DATA_BYTES_MOST (256u << 20)
#define SYMBOLS_BYTES_MOST (64u << 20)

/* A file that was read. */
struct file {
	dev_t device;
	ino_t inode;
	struct timespec changed;
	bool inside;
};

struct hk_cuda_inside {
	struct file files[FILES_MOST];
	unsigned count; /* of files read; the oldest is replaced */
};

/* Texts, with their NULs, of a runtime: it opens the driver and asks it for its tables of
 * functions. A linker may drop its table of errors from a library that does not name errors. */
enum text {
	TEXT_DRIVER,
	TEXT_TABLES,
	TEXT_ERRORS,
	TEXT_COUNT,
};
static const char *const texts[TEXT_COUNT] = {
    [TEXT_DRIVER] = "libcuda.so.1",
    [TEXT_TABLES] = "cuGetExportTable",
    [TEXT_ERRORS] = "cudaErrorMissingConfiguration",
};

/* What the sections of a file say. */
struct look {
	bool opens; /* imports dlopen */
	bool
	    shared; /* imports or exports functions of the runtime: it is another object, or this */
	bool has_code; /* has code for devices */
	bool found[TEXT_COUNT];
};

struct hk_cuda_inside *hk_cuda_inside_new(void)
{
	return calloc(1, sizeof(struct hk_cuda_inside));
}

struct hk_cuda_inside *hk_cuda_inside_free(struct hk_cuda_inside *known)
{
	free(known);
	return NULL;
}

/* ---- reading ---- */

static bool is_runtime(const char *name)
{
	name += strncmp(name, "__", 2) == 0 ? 2 : 0;
	return strncmp(name, "cuda", 4) == 0 && name[4] >= 'A' && name[4] <= 'Z';
}

static void read_symbols(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, struct look *look)
{
	Elf_Data *data = header->sh_size <= SYMBOLS_BYTES_MOST ? elf_getdata(section, NULL) : NULL;
	size_t count = data && header->sh_entsize ? data->d_size / header->sh_entsize : 0;
	for (size_t i = 0; i < count && i <= INT32_MAX; i++) {
		GElf_Sym symbol;
		const char *name = gelf_getsym(data, (int)i, &symbol)
				       ? elf_strptr(elf, header->sh_link, symbol.st_name)
				       : NULL;
		look->opens |= name && symbol.st_shndx == SHN_UNDEF && strcmp(name, "dlopen") == 0;
		look->shared |= name && (symbol.st_shndx == SHN_UNDEF
					     ? is_runtime(name)
					     : strcmp(name, "cudaGetDeviceCount") == 0);
	}
}

static void search(const char *bytes, size_t count, struct look *look)
{
	for (unsigned i = 0; i < TEXT_COUNT; i++) {
		look->found[i] =
		    look->found[i] || memmem(bytes, count, texts[i], strlen(texts[i]) + 1);
	}
}

/* Searches the bytes of a section part by part: a large library is not to fill the memory. */
static void read_data(int fd, const GElf_Shdr *header, struct look *look)
{
	char *part = malloc(PART_BYTES);
	uint64_t size = header->sh_size < DATA_BYTES_MOST ? header->sh_size : DATA_BYTES_MOST;
	for (uint64_t at = 0; part && at < size;) {
		size_t wanted = size - at < PART_BYTES ? (size_t)(size - at) : PART_BYTES;
		ssize_t got = pread(fd, part, wanted, (off_t)(header->sh_offset + at));
		if (got <= 0) {
			break;
		}
		search(part, (size_t)got, look);
		at += (size_t)got > OVERLAP && at + (size_t)got < size ? (size_t)got - OVERLAP
								       : (size_t)got;
	}
	free(part);
}

/* Reads the imports first: few files have some that make their data worth reading. */
static void read_sections(Elf *elf, int fd, struct look *look)
{
	GElf_Shdr header;
	size_t names;
	if (elf_getshdrstrndx(elf, &names) < 0) {
		return;
	}
	for (Elf_Scn *at = NULL; (at = elf_nextscn(elf, at));) {
		const char *name =
		    gelf_getshdr(at, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
		look->has_code |= name && strcmp(name, ".nv_fatbin") == 0;
		if (name && header.sh_type == SHT_DYNSYM) {
			read_symbols(elf, at, &header, look);
		}
	}
	for (Elf_Scn *at = NULL; look->opens && !look->shared && (at = elf_nextscn(elf, at));) {
		const char *name =
		    gelf_getshdr(at, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
		bool constant =
		    name && (strcmp(name, ".rodata") == 0 || strcmp(name, ".lrodata") == 0);
		if (constant && header.sh_type == SHT_PROGBITS) {
			read_data(fd, &header, look);
		}
	}
}

static bool read_file(int fd)
{
	struct look look = {0};
	Elf *elf = elf_version(EV_CURRENT) == EV_NONE ? NULL : elf_begin(fd, ELF_C_READ, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF && gelf_getclass(elf) == ELFCLASS64) {
		read_sections(elf, fd, &look);
	}
	elf_end(elf);
	return look.opens && !look.shared && look.found[TEXT_DRIVER] && look.found[TEXT_TABLES] &&
	       (look.found[TEXT_ERRORS] || look.has_code);
}

/* ---- what is known ---- */

static const struct file *find(const struct hk_cuda_inside *known, const struct stat *status)
{
	for (unsigned i = 0; i < known->count && i < FILES_MOST; i++) {
		const struct file *file = &known->files[i];
		if (file->inode == status->st_ino && file->device == status->st_dev &&
		    file->changed.tv_sec == status->st_mtim.tv_sec &&
		    file->changed.tv_nsec == status->st_mtim.tv_nsec) {
			return file;
		}
	}
	return NULL;
}

bool hk_cuda_inside_ask(struct hk_cuda_inside *known, const char *path, bool *ret_read)
{
	/* A path may have been replaced by a pipe, on which an open would wait. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat status;
	bool inside = false;
	*ret_read = false;
	if (fd < 0) {
		return false;
	}
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
		const struct file *file = find(known, &status);
		inside = file ? file->inside : read_file(fd);
		*ret_read = !file;
		if (!file) {
			known->files[known->count++ % FILES_MOST] =
			    (struct file){status.st_dev, status.st_ino, status.st_mtim, inside};
		}
	}
	close(fd);
	return inside;
}
