/* unload.h: one visit of a plugin that is left by its first lazy call, and what is then where its
 * data was. */
#ifndef TESTS_UNLOAD_H
#define TESTS_UNLOAD_H

#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>

constexpr uintptr_t unload_page = 4096;
constexpr unsigned char unload_filling = 0x5a;

struct unload_place {
	uintptr_t base, start, end;
};

inline void unload_require(bool holds, const char *what)
{
	if (!holds) {
		fprintf(stderr, "%s: %s\n", what, dlerror());
		exit(1);
	}
}

inline int unload_add(struct dl_phdr_info *info, size_t, void *data)
{
	auto *place = static_cast<unload_place *>(data);
	if (info->dlpi_addr != place->base) {
		return 0;
	}
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) &segment = info->dlpi_phdr[i];
		if (segment.p_type == PT_LOAD) {
			uintptr_t end = place->base + segment.p_vaddr + segment.p_memsz;
			place->end = (end + unload_page - 1) / unload_page * unload_page;
		}
	}
	place->start = place->base;
	return 1;
}

inline unload_place unload_place_of(void *handle)
{
	struct link_map *map;
	unload_require(dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0, "dlinfo");
	unload_place found = {map->l_addr, 0, 0};
	dl_iterate_phdr(unload_add, &found);
	return found;
}

/* The plugin's function calls one that two libraries define, so the loader alone knows whose; that
 * one leaves for us, by WAY. Where the plugin was, who asks for memory gets it. */
inline unload_place unload_visit(const char *path, const char *way)
{
	void *handle = dlopen(path, RTLD_LAZY | RTLD_GLOBAL);
	unload_require(handle, path);
	auto throws = reinterpret_cast<void (*)(int)>(dlsym(handle, "plugin_throw"));
	auto jumps = reinterpret_cast<void (*)(jmp_buf *)>(dlsym(handle, "plugin_jump"));
	unload_place where = unload_place_of(handle);
	if (strcmp(way, "throw") == 0) {
		try {
			throws(1);
		} catch (int) {
		}
	} else {
		jmp_buf back;
		if (setjmp(back) == 0) {
			jumps(&back);
		}
	}
	dlclose(handle);
	void *mine =
	    mmap(reinterpret_cast<void *>(where.start), where.end - where.start,
		 PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	unload_require(mine == reinterpret_cast<void *>(where.start), "the plugin's place");
	memset(mine, unload_filling, where.end - where.start);
	return where;
}

/* Bytes of ours that somebody else wrote to; the memory goes. */
inline long unload_spoiled(const unload_place &where)
{
	long count = 0;
	auto *at = reinterpret_cast<unsigned char *>(where.start);
	for (uintptr_t i = 0; i < where.end - where.start; i++) {
		count += at[i] != unload_filling;
	}
	munmap(at, where.end - where.start);
	return count;
}

struct unload_request {
	const char *path, *way;
	unload_place where;
};

inline void unload_serve(void *data)
{
	auto *request = static_cast<unload_request *>(data);
	request->where = unload_visit(request->path, request->way);
}

/* Each visit is made from within a call of OTHER's, which stays: when that returns, what was left
 * below it is known to be left. */
inline long unload_visits(const char *path, const char *other, const char *way, int rounds)
{
	void *handle = dlopen(other, RTLD_LAZY | RTLD_GLOBAL);
	unload_require(handle, other);
	auto run =
	    reinterpret_cast<void (*)(void (*)(void *), void *)>(dlsym(handle, "plugin_run"));
	long count = 0;
	for (int i = 0; i < rounds; i++) {
		unload_request request = {path, way, {}};
		run(unload_serve, &request);
		count += unload_spoiled(request.where);
	}
	return count;
}

#endif
