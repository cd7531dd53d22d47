#include "collector/symbol/cuda_inside.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/elf_file.h"

#define FILES_MOST 1024u
#define PART_BYTES (1u << 20)
#define OVERLAP 64u /* longer than any text */
#define DATA_BYTES_MOST (256u << 20)

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

static int see_symbol(void *context, const GElf_Sym *symbol, const char *name)
{
	struct look *look = context;
	bool imported = symbol->st_shndx == SHN_UNDEF;

	if (name) {
		look->opens |= imported && strcmp(name, "dlopen") == 0;
		look->shared |=
		    imported ? is_runtime(name) : strcmp(name, "cudaGetDeviceCount") == 0;
	}
	return 0;
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
static void read_sections(const struct hk_elf *file, struct look *look)
{
	GElf_Shdr header;
	size_t names;
	hk_elf_symbols(file, SHT_DYNSYM, see_symbol, look);
	if (!look->opens || look->shared || elf_getshdrstrndx(file->elf, &names) < 0) {
		return;
	}
	for (Elf_Scn *at = NULL; (at = elf_nextscn(file->elf, at));) {
		const char *name =
		    gelf_getshdr(at, &header) ? elf_strptr(file->elf, names, header.sh_name) : NULL;
		look->has_code |= name && strcmp(name, ".nv_fatbin") == 0;
		bool constant =
		    name && (strcmp(name, ".rodata") == 0 || strcmp(name, ".lrodata") == 0);
		if (constant && header.sh_type == SHT_PROGBITS) {
			read_data(file->fd, &header, look);
		}
	}
}

static bool has_runtime(const struct hk_elf *file)
{
	struct look look = {0};
	read_sections(file, &look);
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
	struct stat status;
	struct hk_elf elf;
	*ret_read = false;
	if (stat(path, &status) < 0 || !S_ISREG(status.st_mode)) {
		return false;
	}
	const struct file *file = find(known, &status);
	if (file) {
		return file->inside;
	}
	int r = hk_elf_open_copied(path, &elf);
	if (r < 0 && r != -ENOEXEC) {
		return false;
	}
	*ret_read = true;
	struct file *added = &known->files[known->count++ % FILES_MOST];
	/* Another file may lie there by now. */
	status = r == 0 ? elf.status : status;
	*added = (struct file){status.st_dev, status.st_ino, status.st_mtim,
			       r == 0 && has_runtime(&elf)};
	if (r == 0) {
		hk_elf_close(&elf);
	}
	return added->inside;
}
