#include "chunk/read/catalog.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_MAX (64u << 20)

int hk_catalog_init(struct hk_catalog *catalog)
{
	*catalog = (struct hk_catalog){0};
	return hk_intern_init(&catalog->index);
}

static char *copy_string(char **at, const char *string)
{
	size_t bytes = strlen(string) + 1;
	char *copy = memcpy(*at, string, bytes);

	*at += bytes;
	return copy;
}

/* Site and strings in one allocation. */
static struct hk_chunk_site *copy_site(const struct hk_chunk_site *site, size_t bytes)
{
	struct hk_chunk_site *copy = malloc(bytes);

	if (copy) {
		char *at = (char *)(copy + 1);
		*copy = *site;
		copy->function = copy_string(&at, site->function);
		copy->library = copy_string(&at, site->library);
		copy->domain = copy_string(&at, site->domain);
		copy->signature = NULL; /* an allocation of its own, since it may come later */
	}
	return copy;
}

/* A chunk with calls at a higher level may add the signature to a known site. */
static int add_signature(struct hk_catalog *catalog, struct hk_chunk_site *known,
			 const char *signature)
{
	size_t bytes = strlen(signature) + 1;

	if (known->signature || bytes > BYTES_MAX - catalog->bytes) {
		return 0;
	}
	known->signature = strdup(signature);
	catalog->bytes += known->signature ? bytes : 0;
	return known->signature ? 0 : -ENOMEM;
}

static int reserve(struct hk_catalog *catalog)
{
	uint32_t wanted = catalog->capacity ? catalog->capacity * 2 : 64;

	if (catalog->index.count < catalog->capacity) {
		return 0;
	}
	struct hk_chunk_site **grown = realloc(catalog->sites, wanted * sizeof(*grown));
	if (!grown) {
		return -ENOMEM;
	}
	catalog->sites = grown;
	catalog->capacity = wanted;
	return 0;
}

static int add_site(struct hk_catalog *catalog, const struct hk_chunk_site *site)
{
	size_t bytes = sizeof(*site) + strlen(site->function) + strlen(site->library) +
		       strlen(site->domain) + 3;
	uint32_t place;

	if (bytes > BYTES_MAX - catalog->bytes) {
		return 0;
	}
	struct hk_chunk_site *copy = copy_site(site, bytes);
	if (!copy || reserve(catalog) < 0 || hk_intern_add(&catalog->index, site->id, &place) < 0) {
		free(copy);
		return -ENOMEM;
	}
	catalog->sites[place] = copy;
	catalog->bytes += bytes;
	return 0;
}

int hk_catalog_take(struct hk_catalog *catalog, struct hk_chunk_reader *reader)
{
	const struct hk_chunk_site *sites;
	size_t count;
	int rc = hk_chunk_reader_sites(reader, &sites, &count);

	for (size_t i = 0; rc == 0 && i < count; i++) {
		uint32_t place = hk_intern_find(&catalog->index, sites[i].id);
		if (place == HK_INTERN_NONE) {
			rc = add_site(catalog, &sites[i]);
			place = hk_intern_find(&catalog->index, sites[i].id);
		}
		if (rc == 0 && place != HK_INTERN_NONE && sites[i].signature) {
			rc = add_signature(catalog, catalog->sites[place], sites[i].signature);
		}
	}
	return rc;
}

const struct hk_chunk_site *hk_catalog_find(const struct hk_catalog *catalog, uint32_t id)
{
	uint32_t place = hk_intern_find(&catalog->index, id);

	return place == HK_INTERN_NONE ? NULL : catalog->sites[place];
}

void hk_catalog_fini(struct hk_catalog *catalog)
{
	for (uint32_t i = 0; i < catalog->index.count; i++) {
		free((char *)catalog->sites[i]->signature);
		free(catalog->sites[i]);
	}
	free(catalog->sites);
	hk_intern_fini(&catalog->index);
	*catalog = (struct hk_catalog){0};
}
