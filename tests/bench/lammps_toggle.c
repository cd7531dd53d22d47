/* lammps_toggle.c: preloaded into LAMMPS, says what tracing adds to its steps.
 *
 * Slices of SLICE steps take turns. In a bare slice, the slots of LAMMPS that lead to the agent
 * lead to the functions themselves. All ranks count the same steps, so a slice is traced or bare on
 * all of them. With LAMMPS_TOGGLE=R, rank R takes turns and the other ranks stay bare. When it
 * ends, a rank prints "rank R: S traced steps, N ns added to each": the median over the pairs of
 * slices. The first pair is left out. bench_cost.py compares that with the cost that the report
 * estimates.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define SLICE 40u /* steps: two rebuilds of the neighbour lists */
#define SLICES 65536u
#define SLOTS 1024u

/* PairLJCut::compute, once a step */
void compute(void *pair, int energy, int virial) __asm__("_ZN9LAMMPS_NS9PairLJCut7computeEii");

static struct {
	void **at;
	void *traced, *bare;
} slots[SLOTS];
static unsigned slot_count;
static double begins[SLICES];
static unsigned steps;

/* The agent's dladdr1 tells of a thunk what is true of its function, but the address. */
static void add_slot(void **at)
{
	Dl_info info;
	ElfW(Sym) *symbol = NULL;
	uintptr_t page = (uintptr_t)at & ~((uintptr_t)getpagesize() - 1);
	if (slot_count == SLOTS || !dladdr1(*at, &info, (void **)&symbol, RTLD_DL_SYMENT) ||
	    !symbol || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC) {
		return;
	}
	void *bare = (char *)info.dli_fbase + symbol->st_value;
	if (bare != *at &&
	    mprotect((void *)page, (uintptr_t)(at + 1) - page, PROT_READ | PROT_WRITE) == 0) {
		slots[slot_count].at = at;
		slots[slot_count].traced = *at;
		slots[slot_count++].bare = bare;
	}
}

/* The PLT slots of the LAMMPS library and its program. */
static int add_object(struct dl_phdr_info *info, size_t size, void *unused)
{
	const ElfW(Dyn) *entry = NULL;
	const ElfW(Rela) *relocations = NULL;
	size_t bytes = 0;
	(void)size;
	(void)unused;
	if (info->dlpi_name[0] && !strstr(info->dlpi_name, "liblammps")) {
		return 0;
	}
	for (int i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC) {
			entry = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
		}
	}
	for (; entry && entry->d_tag != DT_NULL; entry++) {
		if (entry->d_tag == DT_JMPREL) {
			relocations = (const void *)entry->d_un.d_ptr;
		} else if (entry->d_tag == DT_PLTRELSZ) {
			bytes = entry->d_un.d_val;
		}
	}
	for (size_t i = 0; i < bytes / sizeof(*relocations); i++) {
		add_slot((void **)(info->dlpi_addr + relocations[i].r_offset));
	}
	return 0;
}

static double now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static bool is_chosen(void)
{
	const char *chosen = getenv("LAMMPS_TOGGLE"), *rank = getenv("OMPI_COMM_WORLD_RANK");
	return !chosen || !rank || strcmp(chosen, rank) == 0;
}

static void begin_slice(unsigned slice)
{
	bool traced = slice % 2 == 0 && is_chosen();
	for (unsigned i = 0; i < slot_count; i++) {
		*slots[i].at = traced ? slots[i].traced : slots[i].bare;
	}
	begins[slice] = now_ns();
}

__attribute__((visibility("default"))) void compute(void *pair, int energy, int virial)
{
	static void (*next)(void *, int, int);
	if (!next) {
		*(void **)&next = dlsym(RTLD_NEXT, "_ZN9LAMMPS_NS9PairLJCut7computeEii");
		dl_iterate_phdr(add_object, NULL);
	}
	if (steps % SLICE == 0 && steps / SLICE < SLICES) {
		begin_slice(steps / SLICE);
	}
	steps++;
	next(pair, energy, virial);
}

static int ascending(const void *a, const void *b)
{
	double difference = *(const double *)a - *(const double *)b;
	return difference < 0 ? -1 : difference > 0;
}

__attribute__((destructor)) static void tell(void)
{
	static double added[SLICES / 2];
	const char *rank = getenv("OMPI_COMM_WORLD_RANK");
	unsigned begun = steps / SLICE < SLICES ? steps / SLICE : SLICES, pairs = 0;
	for (unsigned slice = 2; slice + 2 < begun; slice += 2) {
		double traced = begins[slice + 1] - begins[slice];
		double bare = begins[slice + 2] - begins[slice + 1];
		added[pairs++] = (traced - bare) / SLICE;
	}
	if (rank && pairs > 0) {
		qsort(added, pairs, sizeof(added[0]), ascending);
		printf("rank %s: %u traced steps, %.1f ns added to each, %u slots\n", rank,
		       (begun + 1) / 2 * SLICE, added[pairs / 2], slot_count);
	}
}
