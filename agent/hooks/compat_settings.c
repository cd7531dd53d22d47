#include "agent/hooks/compat_settings.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/identity.h"

static const char *const level_words[] = {"INFO", "WARN", "ERROR", "FATAL"};
static const char *const module_words[] = {"PROFILE", "TRACE", "HOOK", "PYTHON",
					   "MEMORY",  "DEBUG", "LAST"};

struct word {
	const char *text;
	size_t length;
};

/* Takes the next item of a list with commas, without surrounding blanks. Returns false at the end.
 */
static bool next_item(const char **list, struct word *item)
{
	const char *end;

	if (!*list) {
		return false;
	}
	end = strchr(*list, ',');
	item->text = *list;
	item->length = end ? (size_t)(end - *list) : strlen(*list);
	*list = end ? end + 1 : NULL;
	while (item->length && *item->text == ' ') {
		item->text++;
		item->length--;
	}
	while (item->length && item->text[item->length - 1] == ' ') {
		item->length--;
	}
	return true;
}

/* Splits ITEM at its last '='. */
static bool split(struct word item, struct word *name, struct word *value)
{
	const char *equals = memrchr(item.text, '=', item.length);

	if (!equals) {
		return false;
	}
	*name = (struct word){item.text, (size_t)(equals - item.text)};
	*value = (struct word){equals + 1, item.length - name->length - 1};
	return true;
}

static int find(const char *const *words, int count, struct word word)
{
	for (int i = 0; i < count; i++) {
		if (strlen(words[i]) == word.length &&
		    memcmp(words[i], word.text, word.length) == 0) {
			return i;
		}
	}
	return -1;
}

static uint8_t level_of(struct word word)
{
	int level = find(level_words, 4, word);

	return (uint8_t)(level < 0 ? HK_COMPAT_WARN : level);
}

static void read_levels(const char *list, struct hk_compat_settings *settings)
{
	struct word item, name, value;

	memset(settings->level, HK_COMPAT_WARN, sizeof(settings->level));
	for (bool first = true; next_item(&list, &item); first = false) {
		if (split(item, &name, &value)) {
			int module = find(module_words, HK_COMPAT_MODULES, name);
			if (module >= 0) {
				settings->level[module] = level_of(value);
			}
		} else if (first) {
			memset(settings->level, level_of(item), sizeof(settings->level));
		}
	}
}

/* Parses a number: decimal, 0x or 0b. Returns 0 if WORD is none. */
static uint32_t number_of(struct word word)
{
	uint32_t base = 10, number = 0;

	if (word.length > 2 && word.text[0] == '0' && strchr("xXbB", word.text[1])) {
		base = (word.text[1] | 32) == 'x' ? 16 : 2;
		word.text += 2;
		word.length -= 2;
	}
	for (size_t i = 0; i < word.length; i++) {
		char c = (char)(word.text[i] | 32);
		uint32_t digit = c >= '0' && c <= '9'	? (uint32_t)(c - '0')
				 : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
							: 16;
		if (digit >= base) {
			return 0;
		}
		number = number * base + digit;
	}
	return number;
}

static void read_traces(const char *list, struct hk_compat_settings *settings)
{
	struct word item, name, value;

	while (next_item(&list, &item)) {
		uint32_t room = settings->trace_count;
		if (room == HK_COMPAT_TRACES || !split(item, &name, &value) || !name.length ||
		    name.length >= sizeof(settings->traces[0].symbol)) {
			continue;
		}
		memcpy(settings->traces[room].symbol, name.text, name.length);
		settings->traces[room].symbol[name.length] = '\0';
		settings->traces[room].mask = number_of(value);
		settings->trace_count++;
	}
}

int hk_compat_read(char *const *environment, struct hk_compat_settings *settings)
{
	const char *compat = hk_identity_variable(environment, "HOOK_COMPAT");
	const char *value;

	memset(settings, 0, sizeof(*settings));
	if (!compat || strcmp(compat, "1") != 0) {
		return 0;
	}
	settings->on = true;
	read_levels(hk_identity_variable(environment, "LOG_LEVEL"), settings);
	read_traces(hk_identity_variable(environment, "HOOK_ENABLE_TRACE"), settings);
	value = hk_identity_variable(environment, "LOG_SYNC_MODE");
	settings->sync = value && strcmp(value, "1") == 0;
	value = hk_identity_variable(environment, "LOG_OUTPUT_PATH");
	settings->directory = value && *value ? value : NULL;
	value = hk_identity_variable(environment, "TARGET_LIB_FILTER");
	if (!value || !*value) {
		return 0;
	}
	int status = hk_regex_make(value, &settings->filter);
	settings->filtered = status == 0;
	return status < 0 ? -EINVAL : 0;
}

uint32_t hk_compat_trace(const struct hk_compat_settings *settings, const char *symbol)
{
	uint32_t mask = 0;

	for (uint32_t i = 0; i < settings->trace_count; i++) {
		if (strcmp(settings->traces[i].symbol, symbol) == 0) {
			mask = settings->traces[i].mask; /* the last one applies */
		}
	}
	return mask;
}
