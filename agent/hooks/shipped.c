#include "hooks/shipped.h"

#include <stddef.h>

static const char *text(uint32_t offset)
{
	return hk_shipped_texts + offset;
}

const char *hk_shipped_name(unsigned file)
{
	return text(hk_shipped_file_list[file].name);
}

void hk_shipped_domain(unsigned number, struct hk_domain *ret_domain)
{
	const struct hk_shipped_domain *packed = &hk_shipped_domain_list[number];

	*ret_domain = (struct hk_domain){
	    .name = text(packed->name),
	    .title = text(packed->title),
	    .light = packed->light,
	    .dark = packed->dark,
	    .order = packed->order,
	    .idle = packed->idle,
	};
}

unsigned hk_shipped_file_of(uint32_t number)
{
	return hk_shipped_hook_list[number].file;
}

void hk_shipped_get(uint32_t number, struct hk_hook *ret_hook)
{
	const struct hk_shipped_hook *packed = &hk_shipped_hook_list[number];

	*ret_hook = (struct hk_hook){
	    .library = text(packed->library),
	    .symbol = text(packed->symbol),
	    .domain = text(packed->domain),
	    .flags = packed->flags,
	    .level = packed->level,
	    .stack_rate = packed->stack_rate,
	    .auto_level = packed->auto_level,
	    .meaning = packed->meaning,
	    .error = packed->error,
	    .result = packed->result,
	    .arg_count = packed->arg_count,
	    .value_count = packed->value_count,
	    .stack_words = packed->stack_words,
	    .pending = packed->pending,
	    .line = packed->line,
	    .runtime = packed->runtime,
	    .type_sizes = packed->type_sizes ? text(packed->type_sizes) : NULL,
	};
	for (unsigned i = 0; i < packed->arg_count; i++) {
		const struct hk_shipped_arg *arg = &hk_shipped_args[packed->args + i];
		ret_hook->args[i] = (struct hk_hook_arg){
		    .name = text(arg->name),
		    .type = arg->type,
		    .reference = arg->reference,
		    .place = arg->place,
		    .index = arg->index,
		    .words = arg->words,
		};
	}
	for (unsigned i = 0; i < packed->value_count; i++) {
		ret_hook->values[i] = hk_shipped_values[packed->values + i];
	}
}

void hk_shipped_index(struct hk_index *ret_index)
{
	*ret_index = (struct hk_index){
	    .pairs = hk_shipped_pairs,
	    .filter = hk_shipped_filter,
	    .hashes = hk_shipped_hashes,
	    .buckets = hk_shipped_buckets,
	    .next = hk_shipped_next,
	    .globs = hk_shipped_globs,
	    .bucket_mask = hk_shipped_bucket_mask,
	    .glob_count = hk_shipped_glob_count,
	};
}
