/* unload leave WAY PLUGIN OTHER     as unload.h says; OTHER defines what PLUGIN calls, too
 * unload same FIRST SECOND          opens each alone, at one address, and calls its function
 * unload many ROUNDS FIRST...       opens and closes each, and calls its function
 */
#include "unload.h"

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

static int many(int count, char **paths)
{
	long total = 0;
	for (int i = 0; i < count; i++) {
		uintptr_t base;
		for (char **path = paths; *path; path++) {
			total += sum_of(*path, &base);
		}
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
	if (argc > 3 && strcmp(argv[1], "many") == 0) {
		return many(atoi(argv[2]), argv + 3);
	}
	return 2;
}
