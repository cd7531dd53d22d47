#include "elf/elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define MAPPED_BYTES_MOST (1u << 30)
#define COPIED_BYTES_MOST (64u << 20)
#define NOTE_BYTES_MOST (1u << 20)

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define BYTE_ORDER_HERE ELFDATA2LSB
#else
#define BYTE_ORDER_HERE ELFDATA2MSB
#endif

static bool is_usable(const struct hk_elf *file)
{
	GElf_Ehdr header;

	return gelf_getclass(file->elf) == ELFCLASS64 && gelf_getehdr(file->elf, &header) &&
	       header.e_ident[EI_DATA] == BYTE_ORDER_HERE &&
	       (header.e_shnum == 0 || header.e_shentsize == sizeof(Elf64_Shdr));
}

static int begin(int fd, bool copied, struct hk_elf *ret_file)
{
	*ret_file = (struct hk_elf){
	    .fd = fd, .section_bytes_most = copied ? COPIED_BYTES_MOST : MAPPED_BYTES_MOST};
	if (fstat(fd, &ret_file->status) == 0 && S_ISREG(ret_file->status.st_mode) &&
	    elf_version(EV_CURRENT) != EV_NONE) {
		ret_file->elf = elf_begin(fd, copied ? ELF_C_READ : ELF_C_READ_MMAP, NULL);
	}
	if (!ret_file->elf || elf_kind(ret_file->elf) != ELF_K_ELF) {
		hk_elf_close(ret_file);
		return -ENOEXEC;
	}
	return 0;
}

int hk_elf_begin(int fd, struct hk_elf *ret_file)
{
	return begin(fd, false, ret_file);
}

static int open_path(const char *path, bool copied, struct hk_elf *ret_file)
{
	/* A path may have been replaced by a pipe, on which an open would wait. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	int r = fd < 0 ? -errno : begin(fd, copied, ret_file);
	if (r == 0 && !is_usable(ret_file)) {
		hk_elf_close(ret_file);
		r = -ENOEXEC;
	}
	return r;
}

int hk_elf_open(const char *path, struct hk_elf *ret_file)
{
	return open_path(path, false, ret_file);
}

int hk_elf_open_copied(const char *path, struct hk_elf *ret_file)
{
	return open_path(path, true, ret_file);
}

void hk_elf_close(struct hk_elf *file)
{
	elf_end(file->elf);
	file->elf = NULL;
	if (file->fd >= 0) {
		close(file->fd);
	}
	file->fd = -1;
}

/* Returns whether the section of HEADER may be read into memory. */
static bool is_small(const struct hk_elf *file, const GElf_Shdr *header)
{
	return header->sh_size <= file->section_bytes_most;
}

static bool has_small_names(const struct hk_elf *file, const GElf_Shdr *header)
{
	Elf_Scn *names = elf_getscn(file->elf, header->sh_link);
	GElf_Shdr of_names;

	return names && gelf_getshdr(names, &of_names) && is_small(file, &of_names);
}

/* Returns the first section of TYPE with its header, or NULL. A section that is too large to be
 * read is left out, and one whose names are. */
static Elf_Scn *find_section(const struct hk_elf *file, uint32_t type, GElf_Shdr *ret_header)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(file->elf, section))) {
		if (gelf_getshdr(section, ret_header) && ret_header->sh_type == type) {
			return is_small(file, ret_header) && has_small_names(file, ret_header)
				   ? section
				   : NULL;
		}
	}
	return NULL;
}

int hk_elf_symbols(const struct hk_elf *file, uint32_t type, hk_elf_symbol each, void *context)
{
	GElf_Shdr header;
	Elf_Scn *section = find_section(file, type, &header);
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
	Elf_Data *names = data ? elf_getdata(elf_getscn(file->elf, header.sh_link), NULL) : NULL;
	const char *texts = names ? names->d_buf : NULL;
	int r = 0;

	if (!section) {
		return -ENOENT;
	}
	if (!texts || names->d_size == 0 || texts[names->d_size - 1] != '\0' ||
	    header.sh_entsize != sizeof(Elf64_Sym)) {
		return -ENOEXEC;
	}
	size_t count = data->d_size / header.sh_entsize;
	for (size_t i = 0; i < count && i <= INT32_MAX && r >= 0; i++) {
		GElf_Sym symbol;
		if (gelf_getsym(data, (int)i, &symbol)) {
			bool named = symbol.st_name < names->d_size;
			r = each(context, &symbol, named ? texts + symbol.st_name : NULL);
		}
	}
	return r < 0 ? r : 0;
}

/* ---- notes ---- */

/* Finds the note of TYPE and OWNER in DATA. Returns its content, or NULL. */
static const char *find_note(Elf_Data *data, uint32_t type, const char *owner, size_t *ret_bytes)
{
	size_t at = 0, next, name, content;
	GElf_Nhdr note;

	while (data && (next = gelf_getnote(data, at, &note, &name, &content)) > 0) {
		const char *base = data->d_buf;
		/* Linkers differ in how many final zeros of the name they count. */
		if (note.n_type == type && note.n_namesz >= strlen(owner) &&
		    strncmp(base + name, owner, note.n_namesz) == 0) {
			*ret_bytes = note.n_descsz;
			return base + content;
		}
		at = next;
	}
	return NULL;
}

/* Finds the note of TYPE and OWNER in a section, or NULL. */
static const char *note_in_sections(const struct hk_elf *file, uint32_t type, const char *owner,
				    size_t *ret_bytes)
{
	Elf_Scn *section = NULL;
	const char *content = NULL;
	GElf_Shdr header;

	while (!content && (section = elf_nextscn(file->elf, section))) {
		bool note = gelf_getshdr(section, &header) && header.sh_type == SHT_NOTE &&
			    header.sh_size <= NOTE_BYTES_MOST;
		content =
		    note ? find_note(elf_getdata(section, NULL), type, owner, ret_bytes) : NULL;
	}
	return content;
}

/* Finds the note of TYPE and OWNER in what is loaded, or NULL. */
static const char *note_in_segments(const struct hk_elf *file, uint32_t type, const char *owner,
				    size_t *ret_bytes)
{
	const char *content = NULL;
	GElf_Phdr header;
	size_t count;

	if (elf_getphdrnum(file->elf, &count) < 0) {
		return NULL;
	}
	for (size_t i = 0; i < count && i <= INT32_MAX && !content; i++) {
		bool note = gelf_getphdr(file->elf, (int)i, &header) && header.p_type == PT_NOTE &&
			    header.p_filesz <= NOTE_BYTES_MOST;
		Elf_Data *data = note ? elf_getdata_rawchunk(file->elf, (int64_t)header.p_offset,
							     header.p_filesz, ELF_T_NHDR)
				      : NULL;
		content = find_note(data, type, owner, ret_bytes);
	}
	return content;
}

size_t hk_elf_build_id(const struct hk_elf *file, uint8_t ret_build_id[HK_ELF_BUILD_ID_MOST])
{
	size_t bytes = 0;
	/* Segments of a separate debug file may point to other bytes. */
	const char *content = note_in_sections(file, NT_GNU_BUILD_ID, "GNU", &bytes);

	content = content ? content : note_in_segments(file, NT_GNU_BUILD_ID, "GNU", &bytes);
	if (!content || bytes > HK_ELF_BUILD_ID_MOST) {
		return 0;
	}
	memcpy(ret_build_id, content, bytes);
	return bytes;
}

bool hk_elf_has_note(const struct hk_elf *file, uint32_t type, const char *owner)
{
	size_t bytes;

	return note_in_segments(file, type, owner, &bytes) != NULL;
}

/* ---- program headers ---- */

static int read_loader(const struct hk_elf *file, const GElf_Phdr *header, char path[PATH_MAX])
{
	size_t size = header->p_filesz;
	Elf_Data *data =
	    size >= 2 && size <= PATH_MAX
		? elf_getdata_rawchunk(file->elf, (int64_t)header->p_offset, size, ELF_T_BYTE)
		: NULL;
	const char *text = data ? data->d_buf : NULL;

	if (!text || text[size - 1] != '\0') {
		return -ENOEXEC;
	}
	memcpy(path, text, size);
	return 0;
}

int hk_elf_loader(const struct hk_elf *file, char path[PATH_MAX])
{
	GElf_Phdr header;
	size_t count;
	int r = 0;

	path[0] = '\0';
	if (elf_getphdrnum(file->elf, &count) < 0) {
		return -ENOEXEC;
	}
	for (size_t i = 0; i < count && i <= INT32_MAX && r == 0; i++) {
		if (!gelf_getphdr(file->elf, (int)i, &header)) {
			return -ENOEXEC;
		}
		r = header.p_type == PT_INTERP ? read_loader(file, &header, path) : 0;
	}
	return r;
}
