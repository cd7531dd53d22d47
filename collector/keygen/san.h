/* san.h: the names and addresses that a certificate is valid for, as its subjectAltName.
 *
 * Collectors and hookcli check the name HK_ACCESS_NAME in certificates of keygen. Browsers, curl
 * and Prometheus, which read /metrics, compare their URL with these names. No state but the struct;
 * a zeroed struct has no names.
 */
#ifndef HK_COLLECTOR_KEYGEN_SAN_H
#define HK_COLLECTOR_KEYGEN_SAN_H

#include <stddef.h>
#include <stdint.h>

#define HK_SAN_BYTES 1024u /* of all names, with 2 bytes each before them */
#define HK_SAN_HEAD 4u

struct hk_san {
	size_t size;				   /* of the names */
	uint8_t bytes[HK_SAN_HEAD + HK_SAN_BYTES]; /* DER; the names lie behind room for a head */
};

/* Adds NAME, a host's name or an IPv4 or IPv6 address, unless it is there already. Returns 0,
 * -EINVAL if it is neither, or -ENOSPC if there are too many. */
int hk_san_add(struct hk_san *san, const char *name);

/* Adds this machine's own names and addresses, while there is room. */
void hk_san_add_machine(struct hk_san *san);

/* Writes the head before the names. Sets *RET_DER to the extension, which belongs to SAN. Returns
 * its size. */
size_t hk_san_finish(struct hk_san *san, const uint8_t **ret_der);

#endif
