#include "hooks/language/domain.h"

#include <errno.h>

#define NAME_BYTES 15u
#define TITLE_BYTES 15u
#define ORDER_MAX 99u

static const char *copy(struct hk_hook_arena *arena, struct hk_word word)
{
	return hk_hook_arena_join(arena, word.text, word.length, "", 0);
}

/* The six hexadecimal digits at TEXT as a number; false: there are none. */
static bool read_colour(const char *text, uint32_t *ret_colour)
{
	uint32_t colour = 0;

	for (unsigned i = 0; i < 6; i++) {
		char c = text[i];
		uint32_t digit = c >= '0' && c <= '9'	? (uint32_t)(c - '0')
				 : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
							: 16;
		if (digit == 16) {
			return false;
		}
		colour = colour << 4 | digit;
	}
	*ret_colour = colour;
	return true;
}

static bool read_order(struct hk_word word, uint8_t *ret_order)
{
	uint32_t order = 0;

	for (size_t i = 0; i < word.length && order <= ORDER_MAX; i++) {
		if (word.text[i] < '0' || word.text[i] > '9') {
			return false;
		}
		order = 10 * order + (uint32_t)(word.text[i] - '0');
	}
	*ret_order = (uint8_t)order;
	return order > 0 && order <= ORDER_MAX;
}

static int parse_attribute(struct hk_scan *scan, struct hk_hook_arena *arena,
			   struct hk_domain *domain)
{
	struct hk_word key = hk_scan_name(scan);

	if (hk_word_is(key, "idle")) {
		domain->idle = true;
		return 0;
	}
	struct hk_word value = {0};
	if (hk_scan_take(scan, '=')) {
		value = hk_scan_glob(scan);
	}
	if (hk_word_is(key, "title") && value.length > 0 && value.length <= TITLE_BYTES) {
		domain->title = copy(arena, value);
		return domain->title ? 0 : -ENOSPC;
	}
	bool pair = value.length == 13 && value.text[6] == '/';
	if ((hk_word_is(key, "order") && value.length > 0 && read_order(value, &domain->order)) ||
	    (hk_word_is(key, "colour") && pair && read_colour(value.text, &domain->light) &&
	     read_colour(value.text + 7, &domain->dark))) {
		return 0;
	}
	return hk_scan_fail(
	    scan, "a domain takes title=, order=1..99, colour=rrggbb/rrggbb and idle, not", key);
}

int hk_domain_parse(struct hk_scan *scan, struct hk_hook_arena *arena, struct hk_domain *ret_domain)
{
	struct hk_word word = hk_scan_name(scan);

	if (word.length == 0 || word.length > NAME_BYTES) {
		return hk_scan_fail(scan, "domain is one word of at most 15 letters, not", word);
	}
	*ret_domain = (struct hk_domain){.name = copy(arena, word), .title = ""};
	int r = ret_domain->name ? 0 : -ENOSPC;
	while (r == 0 && !hk_scan_done(scan)) {
		r = parse_attribute(scan, arena, ret_domain);
	}
	return r;
}
