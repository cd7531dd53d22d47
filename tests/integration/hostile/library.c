#include <stdlib.h>

void *keep(size_t bytes);

/* Memory that stays. */
void *keep(size_t bytes)
{
	static void *kept;

	return kept = malloc(bytes);
}
