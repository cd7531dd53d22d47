/* elf_file.h: an ELF file on disk, read with libelf.
 *
 * A file is of another user's making: what in it contradicts itself is left out. Not thread-safe
 * for one file.
 */
#ifndef HK_ELF_ELF_FILE_H
#define HK_ELF_ELF_FILE_H

#include <gelf.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#define HK_ELF_BUILD_ID_MOST 64u

struct hk_elf {
	int fd;
	Elf *elf;
	struct stat status;
	uint64_t section_bytes_most; /* larger sections are not read */
};

/* Begins to read the ELF file FD, of any class, and takes FD. Returns 0, or -ENOEXEC if it is not a
 * regular ELF file. */
int hk_elf_begin(int fd, struct hk_elf *ret_file);

/* Opens the file at PATH, which is regular, 64-bit and of this machine's byte order. Returns 0,
 * -ENOEXEC if it is not such a file, -ENOMEM, or -errno of open. */
int hk_elf_open(const char *path, struct hk_elf *ret_file);

/* The same for a process that must not be ended by a mapped file that is cut short. What is needed
 * is copied, at most 64 MiB of each section. */
int hk_elf_open_copied(const char *path, struct hk_elf *ret_file);

void hk_elf_close(struct hk_elf *file);

/* Takes one symbol. NAME is NULL if the file's is not valid. Returns a negative value to end. */
typedef int (*hk_elf_symbol)(void *context, const GElf_Sym *symbol, const char *name);

/* Passes the symbols of the first section of TYPE to EACH. Returns 0, -ENOENT if there is no such
 * section, -ENOEXEC if it is damaged, or what EACH returned. */
int hk_elf_symbols(const struct hk_elf *file, uint32_t type, hk_elf_symbol each, void *context);

/* Copies the build id to RET_BUILD_ID. Returns its bytes, 0 if the file has none. */
size_t hk_elf_build_id(const struct hk_elf *file, uint8_t ret_build_id[HK_ELF_BUILD_ID_MOST]);

/* Writes the path of the file's loader to PATH; empty: it names none. Returns 0, or -ENOEXEC if its
 * program headers are damaged. */
int hk_elf_loader(const struct hk_elf *file, char path[PATH_MAX]);

/* Returns whether a note of TYPE and OWNER is in the file's program headers. */
_Bool hk_elf_has_note(const struct hk_elf *file, uint32_t type, const char *owner);

#endif
