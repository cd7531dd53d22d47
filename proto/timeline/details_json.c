#include "timeline/details_json.h"

#include "hooks/names.h"

void hk_details_json_value(struct hk_json *json, const struct hk_export_site *site, uint8_t key,
			   uint64_t word)
{
	char text[HK_VALUE_TEXT_BYTES];

	if (!hk_exporter_has_value(key, word)) {
		return;
	}
	switch (hk_exporter_value_form(key)) {
	case HK_VALUE_UNNAMED:
		break;
	case HK_VALUE_UINT64:
		hk_json_uint(json, hk_key_name(key), word);
		break;
	case HK_VALUE_INT64:
		hk_json_int(json, hk_key_name(key), (int64_t)word);
		break;
	case HK_VALUE_INT32:
		hk_json_int(json, hk_key_name(key), (int32_t)word);
		break;
	case HK_VALUE_HANDLE:
		hk_json_hex(json, hk_key_name(key), word);
		break;
	case HK_VALUE_DOUBLE:
		hk_json_double(json, hk_key_name(key), word);
		break;
	case HK_VALUE_TEXT:
		hk_json_string(json, hk_key_name(key),
			       hk_exporter_value_text(site, key, word, text));
		break;
	}
}

void hk_details_json_argument(struct hk_json *json, const char *name,
			      const struct hk_argument *argument)
{
	char text[HK_ARGUMENT_VALUE_BYTES];

	switch (argument->form) {
	case HK_ARGUMENT_SIGNED:
		hk_json_int(json, name, (int64_t)argument->word);
		break;
	case HK_ARGUMENT_UNSIGNED:
		hk_json_uint(json, name, argument->word);
		break;
	case HK_ARGUMENT_DOUBLE:
		hk_json_double(json, name, argument->word);
		break;
	case HK_ARGUMENT_POINTER:
	case HK_ARGUMENT_HANDLE:
		hk_json_hex(json, name, argument->word);
		break;
	case HK_ARGUMENT_TEXT:
		hk_argument_text(argument, text);
		hk_json_string(json, name, text);
		break;
	case HK_ARGUMENT_STRUCT:
	case HK_ARGUMENT_DIM3:
		hk_argument_print(argument, text, sizeof(text));
		hk_json_string(json, name, text);
		break;
	default:
		break;
	}
}

void hk_details_json_arguments(struct hk_json *json, const char *key,
			       const struct hk_arguments *arguments)
{
	char name[HK_ARGUMENT_NAME_BYTES];

	hk_json_open(json, key, '{');
	for (uint32_t i = 0; i < arguments->count; i++) {
		hk_argument_name(&arguments->list[i], name);
		hk_details_json_argument(json, name, &arguments->list[i]);
	}
	hk_json_close(json, '}');
}
