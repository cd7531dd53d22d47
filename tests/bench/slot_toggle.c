#include "slot_toggle.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SLOTS 65536u
#define EXPORTED __attribute__((visibility("default")))

#if defined(__aarch64__)
#define R_LAZY R_AARCH64_JUMP_SLOT
#define R_EARLY R_AARCH64_GLOB_DAT
#else
#define R_LAZY R_X86_64_JUMP_SLOT
#define R_EARLY R_X86_64_GLOB_DAT
#endif

static struct {
	void **at;
	void *traced, *bare;
} slots[SLOTS];
static unsigned slot_count;
static uintptr_t agent, agent_end; /* where its code lies */

/* The relocations of an object that give slots the addresses of functions. */
struct table {
	const ElfW(Rela) * first;
	size_t bytes;
};

/* The agent's dladdr1 tells of a thunk what is true of its function, but the address. */
static void add_slot(void **at)
{
	Dl_info info;
	ElfW(Sym) *symbol = NULL;
	uintptr_t page = (uintptr_t)at & ~((uintptr_t)getpagesize() - 1);
	uintptr_t target = (uintptr_t)*at;
	if (slot_count == SLOTS || target < agent || target >= agent_end ||
	    !dladdr1(*at, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol ||
	    ELF64_ST_TYPE(symbol->st_info) != STT_FUNC) {
		return;
	}
	if (mprotect((void *)page, (uintptr_t)(at + 1) - page, PROT_READ | PROT_WRITE) == 0) {
		slots[slot_count].at = at;
		slots[slot_count].traced = *at;
		slots[slot_count++].bare = (char *)info.dli_fbase + symbol->st_value;
	}
}

static void add_table(uintptr_t base, struct table table)
{
	for (size_t i = 0; i < table.bytes / sizeof(*table.first); i++) {
		unsigned type = (unsigned)ELF64_R_TYPE(table.first[i].r_info);
		if (type == R_LAZY || type == R_EARLY) {
			add_slot((void **)(base + table.first[i].r_offset));
		}
	}
}

static const ElfW(Dyn) * dynamic_of(const struct dl_phdr_info *info)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC) {
			return (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
		}
	}
	return NULL;
}

static int find_agent(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)size;
	(void)unused;
	if (!strstr(info->dlpi_name, "libhookagent")) {
		return 0;
	}
	agent = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		uintptr_t end = agent + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
		if (info->dlpi_phdr[i].p_type == PT_LOAD && end > agent_end) {
			agent_end = end;
		}
	}
	return 1;
}

static int add_object(struct dl_phdr_info *info, size_t size, void *text)
{
	struct table lazy = {NULL, 0}, other = {NULL, 0};
	const ElfW(Dyn) *entry = dynamic_of(info);
	(void)size;
	if (info->dlpi_addr == agent || (info->dlpi_name[0] && !strstr(info->dlpi_name, text)) ||
	    strstr(info->dlpi_name, "linux-vdso")) {
		return 0;
	}
	for (; entry && entry->d_tag != DT_NULL; entry++) {
		if (entry->d_tag == DT_JMPREL) {
			lazy.first = (const void *)entry->d_un.d_ptr;
		} else if (entry->d_tag == DT_PLTRELSZ) {
			lazy.bytes = entry->d_un.d_val;
		} else if (entry->d_tag == DT_RELA) {
			other.first = (const void *)entry->d_un.d_ptr;
		} else if (entry->d_tag == DT_RELASZ) {
			other.bytes = entry->d_un.d_val;
		}
	}
	add_table(info->dlpi_addr, lazy);
	add_table(info->dlpi_addr, other);
	return 0;
}

EXPORTED unsigned slot_toggle_find(const char *text)
{
	dl_iterate_phdr(find_agent, NULL);
	dl_iterate_phdr(add_object, (void *)(uintptr_t)text);
	return slot_count;
}

EXPORTED void slot_toggle(int traced)
{
	for (unsigned i = 0; i < slot_count; i++) {
		__atomic_store_n(slots[i].at, traced ? slots[i].traced : slots[i].bare,
				 __ATOMIC_RELAXED);
	}
}
