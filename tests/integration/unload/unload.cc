/* unload leave WAY PLUGIN OTHER     as unload.h says; OTHER defines what PLUGIN calls, too
 * unload same FIRST SECOND          opens each alone, at one address, and calls its function
 * unload many FIRST COUNT           opens and closes FIRST.0, FIRST.1 ... and calls their functions
 * unload moved FIRST COUNT          opens and closes FIRST so often, each time at another address
 */
#include "unload.h"

#include <string>

static constexpr int rounds = 20;

using sum_function = int (*)(int, int, int, int, int, int, int, int);

static int sum_of(const char *path, uintptr_t *base)
{
	void *handle = dlopen(path, RTLD_NOW);
	unload_require(handle, path);
	auto sum = reinterpret_cast<sum_function>(dlsym(handle, "unload_sum"));
	int result = sum(1, 2, 3, 4, 5, 6, 7, 8);
	*base = unload_place_of(handle).base;
	dlclose(handle);
	return result;
}

static int same(char **paths)
{
	uintptr_t base[2];
	for (int i = 0; i < rounds; i++) {
		int first = sum_of(paths[0], &base[0]), second = sum_of(paths[1], &base[1]);
		printf("%d %d same %d\n", first, second, base[0] == base[1]);
	}
	return 0;
}

static int many(const char *path, int count)
{
	long total = 0;
	for (int i = 0; i < count; i++) {
		uintptr_t base;
		total += sum_of((std::string(path) + "." + std::to_string(i)).c_str(), &base);
	}
	printf("%ld\n", total);
	return 0;
}

static int moved(const char *path, int count)
{
	long total = 0;
	for (int i = 0; i < count; i++) {
		uintptr_t base;
		total += sum_of(path, &base);
		mmap(reinterpret_cast<void *>(base), unload_page, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	}
	printf("%ld\n", total);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 5 && strcmp(argv[1], "leave") == 0) {
		printf("spoiled %ld\n", unload_visits(argv[3], argv[4], argv[2], rounds));
		return 0;
	}
	if (argc == 4 && strcmp(argv[1], "same") == 0) {
		return same(argv + 2);
	}
	if (argc == 4 && strcmp(argv[1], "many") == 0) {
		return many(argv[2], atoi(argv[3]));
	}
	if (argc == 4 && strcmp(argv[1], "moved") == 0) {
		return moved(argv[2], atoi(argv[3]));
	}
	return 2;
}
