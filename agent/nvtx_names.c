#include "agent/nvtx_names.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "agent/memory/arena.h"

#define DOMAINS 256u
#define STRINGS 4096u

static_assert(sizeof(struct hk_nvtx_event) == 48, "nvtxEventAttributes_v2");
static_assert(offsetof(struct hk_nvtx_event, message) == 40, "nvtxEventAttributes_v2");

/* At most half full, so that a search ends. */
struct table {
	struct hk_nvtx_name *_Atomic *slots;
	uint32_t size;
	_Atomic uint32_t count;
};

static struct hk_nvtx_name *_Atomic domain_slots[2 * DOMAINS], *_Atomic string_slots[2 * STRINGS];
static struct table domains = {domain_slots, 2 * DOMAINS, 0};
static struct table strings = {string_slots, 2 * STRINGS, 0};

static uint32_t copy(const char *from, char to[HK_NVTX_TEXT_BYTES])
{
	uint64_t hash = 14695981039346656037ULL;
	uint32_t length = 0;
	for (; from && from[length] && length + 1 < HK_NVTX_TEXT_BYTES; length++) {
		to[length] = from[length];
		hash = (hash ^ (uint8_t)from[length]) * 1099511628211ULL;
	}
	to[length] = 0;
	return (uint32_t)(hash ^ hash >> 32);
}

static struct hk_nvtx_name *make(struct table *table, const char *text)
{
	struct hk_nvtx_name *made = hk_arena_take(sizeof(*made));
	if (made) {
		made->number = atomic_fetch_add(&table->count, 1) + 1;
		copy(text, made->text);
	}
	return made;
}

static struct hk_nvtx_name *find(struct table *table, const char *wanted)
{
	char text[HK_NVTX_TEXT_BYTES];
	bool full = atomic_load(&table->count) >= table->size / 2 - 1;
	uint32_t at = copy(wanted, text) % table->size;
	struct hk_nvtx_name *found, *made = NULL;
	while ((found = atomic_load(&table->slots[at])) && strcmp(found->text, text) != 0) {
		at = (at + 1) % table->size;
	}
	if (!found && full && strcmp(text, "(more names)") != 0) {
		return find(table, "(more names)");
	}
	while (!found) {
		made = made ? made : make(table, text);
		if (!made || atomic_compare_exchange_strong(&table->slots[at], &found, made)) {
			return made;
		}
		if (strcmp(found->text, text) != 0) { /* another thread took the place */
			at = (at + 1) % table->size;
			found = atomic_load(&table->slots[at]);
		}
	}
	return found;
}

struct hk_nvtx_name *hk_nvtx_domain(const char *text)
{
	return find(&domains, text);
}

struct hk_nvtx_name *hk_nvtx_string(const char *text)
{
	return find(&strings, text);
}

/* Writes CODE as UTF-8. Returns its length. */
static uint32_t encode(uint32_t code, char bytes[4])
{
	if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
		code = 0xfffd;
	}
	if (code < 0x80) {
		bytes[0] = (char)code;
		return 1;
	}
	uint32_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
	for (uint32_t i = length - 1; i > 0; i--, code >>= 6) {
		bytes[i] = (char)(0x80 | (code & 0x3f));
	}
	static const uint8_t heads[] = {0, 0, 0xc0, 0xe0, 0xf0};
	bytes[0] = (char)(heads[length] | code);
	return length;
}

void hk_nvtx_narrow(const wchar_t *text, char narrow[HK_NVTX_TEXT_BYTES])
{
	uint32_t used = 0;
	for (; text && *text; text++) {
		char bytes[4];
		uint32_t length = encode((uint32_t)*text, bytes);
		if (used + length >= HK_NVTX_TEXT_BYTES) {
			break;
		}
		memcpy(narrow + used, bytes, length);
		used += length;
	}
	narrow[used] = 0;
}

void hk_nvtx_text(const struct hk_nvtx_name *domain, const struct hk_nvtx_event *event,
		  char text[HK_NVTX_TEXT_BYTES])
{
	char message[HK_NVTX_TEXT_BYTES] = "(range)";
	int32_t type =
	    event && event->size >= sizeof(*event) && event->message ? event->message_type : 0;
	if (type == HK_NVTX_ASCII) {
		copy(event->message, message);
	} else if (type == HK_NVTX_WIDE) {
		hk_nvtx_narrow(event->message, message);
	} else if (type == HK_NVTX_REGISTERED) {
		copy(((const struct hk_nvtx_name *)event->message)->text, message);
	}
	uint32_t used = 0;
	if (domain) {
		copy(domain->text, text);
		used = (uint32_t)strlen(text);
		used = used + 3 < HK_NVTX_TEXT_BYTES ? used : HK_NVTX_TEXT_BYTES - 3;
		memcpy(text + used, ": ", 2);
		used += 2;
	}
	for (uint32_t i = 0; message[i] && used + 1 < HK_NVTX_TEXT_BYTES; i++) {
		text[used++] = message[i];
	}
	text[used] = 0;
}
