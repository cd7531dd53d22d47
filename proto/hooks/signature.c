#include "hooks/signature.h"

#include <errno.h>
#include <string.h>

#include "hooks/names.h"

struct text {
	char *bytes;
	size_t used;
	bool full;
};

static void put(struct text *text, const char *bytes)
{
	size_t length = strlen(bytes);

	if (text->full || length >= HK_SIGNATURE_BYTES - text->used) {
		text->full = true;
		text->bytes[0] = '\0';
		return;
	}
	memcpy(text->bytes + text->used, bytes, length + 1);
	text->used += length;
}

static void put_unknown(struct text *text)
{
	char name[] = "arg0";

	put(text, "handle(");
	for (unsigned i = 0; i < HK_SIGNATURE_UNKNOWN_ARGS; i++) {
		name[3] = (char)('0' + i);
		put(text, i ? ", handle " : "handle ");
		put(text, name);
	}
	put(text, ")");
}

size_t hk_signature_write(const struct hk_hook *hook, char room[HK_SIGNATURE_BYTES])
{
	struct text text = {.bytes = room};

	room[0] = '\0';
	if (!(hook->flags & HK_HOOK_DESCRIBED)) {
		put_unknown(&text);
		return text.used;
	}
	put(&text, hk_names_get(&hk_names_type, hook->result));
	put(&text, "(");
	for (unsigned i = 0; i < hook->arg_count; i++) {
		const struct hk_hook_arg *arg = &hook->args[i];
		put(&text, i ? ", " : "");
		put(&text, hk_names_get(&hk_names_type, arg->type));
		put(&text, arg->reference ? " *" : " ");
		put(&text, arg->name ? arg->name : "");
	}
	put(&text, ")");
	return text.full ? 0 : text.used;
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

static const char *word_end(const char *at)
{
	while (is_letter(*at)) {
		at++;
	}
	return at;
}

/* Reads `TYPE` and moves *at behind it. */
static int read_type(const char **at, uint8_t *ret_type)
{
	const char *end = word_end(*at);
	int type = hk_names_find(&hk_names_type, *at, (size_t)(end - *at));

	*at = end;
	*ret_type = (uint8_t)type;
	return type < 0 ? -EINVAL : 0;
}

/* Reads `TYPE NAME` or `TYPE *NAME`. */
static int read_argument(const char **at, struct hk_signature_part *part)
{
	if (read_type(at, &part->type) < 0 || part->type == HK_TYPE_VOID || **at != ' ') {
		return -EINVAL;
	}
	++*at;
	part->reference = **at == '*';
	*at += part->reference;
	const char *end = word_end(*at);
	if (end == *at || end - *at > UINT8_MAX) {
		return -EINVAL;
	}
	part->name = *at;
	part->name_bytes = (uint8_t)(end - *at);
	*at = end;
	return 0;
}

int hk_signature_read(const char *text, struct hk_signature *ret_signature)
{
	struct hk_signature signature = {.result = {.name = ""}};
	const char *at = text;

	if (read_type(&at, &signature.result.type) < 0 || *at++ != '(') {
		return -EINVAL;
	}
	while (*at != ')') {
		if (signature.count == HK_HOOK_ARGS ||
		    read_argument(&at, &signature.arguments[signature.count]) < 0) {
			return -EINVAL;
		}
		signature.count++;
		if (at[0] == ',' && at[1] == ' ' && at[2] != ')') {
			at += 2;
		} else if (*at != ')') {
			return -EINVAL;
		}
	}
	*ret_signature = signature;
	return at[1] ? -EINVAL : 0;
}
