/* nvtx_names.h: domains and registered strings of NVTX, and texts of its messages.
 *
 * Each is kept once for the life of the process, in bounded number. No lock, no malloc.
 */
#ifndef HK_AGENT_NVTX_NAMES_H
#define HK_AGENT_NVTX_NAMES_H

#include <stdint.h>
#include <wchar.h>

#define HK_NVTX_TEXT_BYTES 128u

/* A domain or a registered string; a program's handle of it is its address. */
struct hk_nvtx_name {
	uint32_t number; /* from 1 on, each kind by itself */
	void *next;	 /* the handle that the next library gave for it */
	char text[HK_NVTX_TEXT_BYTES];
};

/* Returns the domain, or registered string, called TEXT, made if there is none. When there are too
 * many, it is the one called "(more names)". NULL without memory. */
struct hk_nvtx_name *hk_nvtx_domain(const char *text);
struct hk_nvtx_name *hk_nvtx_string(const char *text);

/* Copies the wide TEXT as UTF-8, as much as fits whole. */
void hk_nvtx_narrow(const wchar_t *text, char narrow[HK_NVTX_TEXT_BYTES]);

/* Event attributes, as NVTX 3 has them (nvtxEventAttributes_v2). */
struct hk_nvtx_event {
	uint16_t version, size;
	uint32_t category;
	int32_t colour_type;
	uint32_t colour;
	int32_t payload_type, reserved;
	uint64_t payload;
	int32_t message_type; /* enum hk_nvtx_message */
	const void *message;
};
enum hk_nvtx_message { HK_NVTX_ASCII = 1, HK_NVTX_WIDE = 2, HK_NVTX_REGISTERED = 3 };

/* Writes the text of EVENT of DOMAIN (NULL: the default one). */
void hk_nvtx_text(const struct hk_nvtx_name *domain, const struct hk_nvtx_event *event,
		  char text[HK_NVTX_TEXT_BYTES]);

#endif
