#include "cli/compare/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

/* How frameworks and tools begin the names of APIs, and the common form. The longer prefix is
 * first. */
static const struct prefix {
	const char *typed, *common;
} prefixes[] = {
    {"torch.nn.functional.", "functional."},
    {"torch._C._nn.", "functional."},
    {"torch._C._TensorBase.", "tensor."},
    {"torch._tensor.Tensor.", "tensor."},
    {"torch.Tensor.", "tensor."},
    {"torch.distributed.", "distributed."},
    {"torch._VF.", "torch."},
    {"torch.", "torch."},
    {"paddle.nn.functional.", "functional."},
    {"paddle.Tensor.", "tensor."},
    {"paddle.distributed.", "distributed."},
    {"paddle.", "torch."},
    {"mindspore.mint.nn.functional.", "functional."},
    {"mindspore.mint.", "torch."},
    {"mindspore.ops.", "functional."},
    {"mindspore.Tensor.", "tensor."},
    {"MintFunctional.", "functional."},
    {"Mint.", "torch."},
    {"Functional.", "functional."},
    {"Tensor.", "tensor."},
    {"Torch.", "torch."},
    {"VF.", "torch."},
    {"Distributed.", "distributed."},
};

/* Parts of modules' paths that wrappers add. */
static const char *const wrappers[] = {"module.", "_orig_mod.", "_fsdp_wrapped_module."};

struct name {
	char *text;
	uint32_t number;
	UT_hash_handle hh;
};

struct hk_names {
	const struct hk_mapping *mapping;
	struct name *typed;  /* by side, kind and name as the dump has it */
	struct name *common; /* by kind and common form */
};

static const char *api_prefix(const char *name, const char **ret_common)
{
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		size_t length = strlen(prefixes[i].typed);
		if (strncmp(name, prefixes[i].typed, length) == 0) {
			*ret_common = prefixes[i].common;
			return name + length;
		}
	}
	*ret_common = "";
	return name;
}

/* Skips the wrapper at NAME, the start of a part of a path. */
static const char *unwrapped(const char *name)
{
	for (size_t i = 0; i < sizeof(wrappers) / sizeof(wrappers[0]);) {
		size_t length = strlen(wrappers[i]);
		if (strncmp(name, wrappers[i], length) == 0) {
			name += length;
			i = 0;
		} else {
			i++;
		}
	}
	return name;
}

static void module_normal(const char *name, char text[HK_NAMES_BYTES])
{
	size_t length = 0;

	for (name = unwrapped(name); *name && length + 1 < HK_NAMES_BYTES; name++) {
		text[length++] = *name;
		if (*name == '.') {
			name = unwrapped(name + 1) - 1;
		}
	}
	text[length] = '\0';
}

void hk_names_normal(enum hk_dump_kind kind, const char *name, char text[HK_NAMES_BYTES])
{
	const char *common;

	if (kind == HK_DUMP_API) {
		name = api_prefix(name, &common);
		snprintf(text, HK_NAMES_BYTES, "%s%s", common, name);
	} else {
		module_normal(name, text);
	}
}

struct hk_names *hk_names_new(const struct hk_mapping *mapping)
{
	struct hk_names *names = calloc(1, sizeof(*names));

	if (names) {
		names->mapping = mapping;
	}
	return names;
}

static void names_clear(struct name **hash)
{
	struct name *name, *next;

	HASH_ITER (hh, *hash, name, next) {
		HASH_DEL(*hash, name);
		free(name->text);
		free(name);
	}
}

struct hk_names *hk_names_free(struct hk_names *names)
{
	if (names) {
		names_clear(&names->typed);
		names_clear(&names->common);
		free(names);
	}
	return NULL;
}

/* Adds TEXT with NUMBER. Returns NULL without memory. */
static struct name *name_add(struct name **hash, const char *text, uint32_t number)
{
	struct name *name = calloc(1, sizeof(*name));

	if (!name) {
		return NULL;
	}
	name->number = number;
	name->text = strdup(text);
	if (name->text) {
		HASH_ADD_KEYPTR(hh, *hash, name->text, strlen(name->text), name);
		if (name->hh.tbl) {
			return name;
		}
	}
	free(name->text);
	free(name);
	return NULL;
}

/* A name that the mapping covers has B's name for it; the mapping may use either form of A's. */
static void common_form(const struct hk_names *names, enum hk_mapping_side side,
			enum hk_dump_kind kind, const char *name, char text[HK_NAMES_BYTES])
{
	char mapped[HK_NAMES_BYTES];

	hk_names_normal(kind, name, text);
	if (side == HK_SIDE_A && (hk_mapping_name(names->mapping, name, mapped, sizeof(mapped)) ||
				  hk_mapping_name(names->mapping, text, mapped, sizeof(mapped)))) {
		hk_names_normal(kind, mapped, text);
	}
}

static struct name *common_find(struct hk_names *names, enum hk_mapping_side side,
				enum hk_dump_kind kind, const char *name)
{
	char text[HK_NAMES_BYTES + 8], form[HK_NAMES_BYTES];
	struct name *found;

	common_form(names, side, kind, name, form);
	snprintf(text, sizeof(text), "%d %s", (int)kind, form);
	HASH_FIND_STR(names->common, text, found);
	return found ? found : name_add(&names->common, text, HASH_COUNT(names->common));
}

uint32_t hk_names_number(struct hk_names *names, enum hk_mapping_side side, enum hk_dump_kind kind,
			 const char *name)
{
	char text[HK_NAMES_BYTES + 16];
	struct name *found;

	snprintf(text, sizeof(text), "%d %d %.*s", (int)side, (int)kind, HK_NAMES_BYTES - 1, name);
	HASH_FIND_STR(names->typed, text, found);
	if (!found) {
		struct name *common = common_find(names, side, kind, name);
		found = common ? name_add(&names->typed, text, common->number) : NULL;
	}
	return found ? found->number : UINT32_MAX;
}
