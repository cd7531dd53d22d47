#include "wire/sites.h"

#include <string.h>
#include <xxhash.h>

/* Mixes SEED with SIZE bytes at DATA. Lengths are mixed too, so that bytes cannot move from one
 * text to the next. */
static uint64_t mix(uint64_t seed, const void *data, size_t size)
{
	return XXH3_64bits_withSeed(data, size, seed + size);
}

static uint64_t mix_text(uint64_t seed, const char *text)
{
	return mix(seed, text, strlen(text));
}

static uint64_t mix_site(uint64_t seed, const Hk__Site *site)
{
	const uint32_t numbers[] = {site->id, site->flags, site->meaning, site->level};

	seed = mix(seed, numbers, sizeof(numbers));
	seed = mix_text(seed, site->function);
	seed = mix_text(seed, site->library);
	seed = mix_text(seed, site->domain);
	return site->n_keys > 0 ? mix(seed, site->keys, site->n_keys * sizeof(*site->keys)) : seed;
}

uint64_t hk_sites_digest(const Hk__Process *process)
{
	uint64_t digest = mix(0, &process->n_sites, sizeof(process->n_sites));

	for (size_t i = 0; i < process->n_sites; i++) {
		digest = mix_site(digest, process->sites[i]);
	}
	return digest ? digest : 1;
}
