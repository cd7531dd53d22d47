#include "cli/export/details.h"

#include <string.h>

#include "hooks/hook.h"

/* Annotates with ARGUMENT. TEXT must last as long as the annotation. Returns false without a
 * value. */
static bool annotate_argument(Hk__Perfetto__DebugAnnotation *annotation,
			      const struct hk_argument *argument,
			      char text[HK_ARGUMENT_VALUE_BYTES])
{
	switch (argument->form) {
	case HK_ARGUMENT_SIGNED:
		annotation->has_int_value = 1;
		annotation->int_value = (int64_t)argument->word;
		return true;
	case HK_ARGUMENT_UNSIGNED:
		annotation->has_uint_value = 1;
		annotation->uint_value = argument->word;
		return true;
	case HK_ARGUMENT_DOUBLE:
		annotation->has_double_value = 1;
		memcpy(&annotation->double_value, &argument->word, sizeof(argument->word));
		return true;
	case HK_ARGUMENT_POINTER:
	case HK_ARGUMENT_HANDLE:
		annotation->has_pointer_value = 1;
		annotation->pointer_value = argument->word;
		return true;
	case HK_ARGUMENT_TEXT:
		hk_argument_text(argument, text);
		annotation->string_value = text;
		return true;
	case HK_ARGUMENT_STRUCT:
	case HK_ARGUMENT_DIM3:
		hk_argument_print(argument, text, HK_ARGUMENT_VALUE_BYTES);
		annotation->string_value = text;
		return true;
	default:
		return false;
	}
}

size_t hk_details_annotate(const struct hk_slice *slice, struct hk_details *details,
			   Hk__Perfetto__DebugAnnotation *annotations)
{
	const struct hk_arguments *arguments = &details->arguments;
	size_t count = 0;

	if (!hk_slice_arguments(slice, &details->arguments)) {
		return 0;
	}
	if (arguments->count) {
		hk__perfetto__debug_annotation__init(&annotations[count]);
		annotations[count].name = "arguments";
		annotations[count].n_dict_entries = arguments->count;
		annotations[count++].dict_entries = details->list;
	}
	for (uint32_t i = 0; i < arguments->count; i++) {
		hk__perfetto__debug_annotation__init(&details->entries[i]);
		hk_argument_name(&arguments->list[i], details->names[i]);
		details->entries[i].name = details->names[i];
		annotate_argument(&details->entries[i], &arguments->list[i], details->texts[i]);
		details->list[i] = &details->entries[i];
	}
	hk__perfetto__debug_annotation__init(&annotations[count]);
	annotations[count].name = "result";
	bool shown = !hk_slice_has(slice, HK_KEY_RESULT) &&
		     annotate_argument(&annotations[count], &arguments->result,
				       details->texts[HK_HOOK_ARGS]);
	return count + shown;
}
