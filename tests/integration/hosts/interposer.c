/* Counts calls of undescribed functions: preloaded, it has each of them under its
 * own name, counts and jumps on (test_patterns.py writes the names, the jumps and their tables). At
 * the end COUNTER_FILE gets a line of a name and a number for each that was called.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

extern const char *const interposer_names[];
extern uint64_t interposer_counts[];
extern void *interposer_targets[];

__attribute__((constructor)) static void begin(void)
{
	for (size_t i = 0; interposer_names[i]; i++) {
		interposer_targets[i] = dlsym(RTLD_NEXT, interposer_names[i]);
	}
}

__attribute__((destructor)) static void end(void)
{
	const char *path = getenv("COUNTER_FILE");
	FILE *file = path ? fopen(path, "we") : NULL;

	for (size_t i = 0; file && interposer_names[i]; i++) {
		if (interposer_counts[i]) {
			fprintf(file, "%s %llu\n", interposer_names[i],
				(unsigned long long)interposer_counts[i]);
		}
	}
	if (file) {
		fclose(file);
	}
}
