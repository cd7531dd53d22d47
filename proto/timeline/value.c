#include "timeline/value.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "hooks/hook.h"
#include "text/utf8.h"

enum hk_value_form hk_exporter_value_form(uint8_t key)
{
	switch (key) {
	case HK_KEY_NONE:
		return HK_VALUE_UNNAMED;
	case HK_KEY_POINTER:
	case HK_KEY_OLD_POINTER:
	case HK_KEY_COMM:
	case HK_KEY_NEW_COMM:
	case HK_KEY_STREAM:
	case HK_KEY_REQUEST:
	case HK_KEY_DIGEST:
		return HK_VALUE_HANDLE;
	case HK_KEY_PEER:
	case HK_KEY_TAG:
	case HK_KEY_FD:
	case HK_KEY_DEVICE:
	case HK_KEY_RANK:
	case HK_KEY_INDEX:
	case HK_KEY_SOURCE:
	case HK_KEY_SOURCE_TAG:
		return HK_VALUE_INT32;
	case HK_KEY_THREAD:
		return HK_VALUE_UINT64;
	case HK_KEY_RESULT:
		return HK_VALUE_INT64;
	case HK_KEY_VALUE:
		return HK_VALUE_DOUBLE;
	case HK_KEY_KERNEL:
	case HK_KEY_GRID:
	case HK_KEY_BLOCK:
		return HK_VALUE_TEXT;
	case HK_KEY_SHARED:
	case HK_KEY_EPOCH:
		return HK_VALUE_UINT64;
	default:
		return key <= HK_KEY_DURATION ? HK_VALUE_UINT64 : HK_VALUE_UNNAMED;
	}
}

bool hk_exporter_has_value(uint8_t key, uint64_t word)
{
	return key == HK_KEY_KERNEL ? word != 0 : key != HK_KEY_BYTES || word <= INT64_MAX;
}

const char *hk_exporter_value_text(const struct hk_export_site *site, uint8_t key, uint64_t word,
				   char text[HK_VALUE_TEXT_BYTES])
{
	if (key == HK_KEY_KERNEL) {
		return word > 0 && word <= site->kernel_count ? site->kernels[word - 1]
							      : "(unknown)";
	}
	snprintf(text, HK_VALUE_TEXT_BYTES, "%" PRIu32 "x%" PRIu32 "x%" PRIu32, (uint32_t)word,
		 (uint32_t)(word >> 32) & 0xffff, (uint32_t)(word >> 48));
	return text;
}

bool hk_slice_arguments(const struct hk_slice *slice, struct hk_arguments *ret_arguments)
{
	return slice->extra_count && slice->site->signature &&
	       hk_arguments_read(slice->site->signature, slice->extra, slice->extra_count,
				 ret_arguments) == 0;
}

bool hk_slice_has(const struct hk_slice *slice, uint8_t key)
{
	for (unsigned i = 0; i < slice->word_count; i++) {
		if (slice->site->keys[i] == key) {
			return true;
		}
	}
	return false;
}

void hk_argument_name(const struct hk_argument *argument, char name[HK_ARGUMENT_NAME_BYTES])
{
	size_t bytes = argument->name_bytes < HK_ARGUMENT_NAME_BYTES ? argument->name_bytes
								     : HK_ARGUMENT_NAME_BYTES - 1;

	memcpy(name, argument->name, bytes); /* letters, digits and underscores */
	name[bytes] = '\0';
}

void hk_argument_text(const struct hk_argument *argument, char text[HK_ARGUMENT_VALUE_BYTES])
{
	char raw[HK_ARGUMENTS_LONG_BYTES + 1];
	size_t length = argument->text_bytes < sizeof(raw) ? argument->text_bytes : sizeof(raw) - 1;

	memcpy(raw, argument->text, length);
	raw[length] = '\0';
	length = hk_utf8_copy(raw, text, HK_ARGUMENT_VALUE_BYTES - 3);
	memcpy(text + length, argument->cut ? "..." : "", argument->cut ? 4 : 1);
}
