/* The plugin of calls_truth: opened late, it must be patched when it comes. */
#include "calls_truth.h"

#include <string.h>

void calls_truth_plugin_run(int count)
{
	for (int i = 0; i < count; i++) {
		char *volatile block = malloc(100);

		memset(block, i, 100);
		free(block);
	}
}
