/* san.h: the names and addresses that a certificate is good for, as its subjectAltName.
 *
 * Collectors and hookcli know one of keygen's by the name HK_ACCESS_NAME; browsers, curl and
 * Prometheus, who come to /metrics, compare what they were given with these. No state but the
 * struct; a zeroed one has no names.
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

/* Adds NAME, a host's name or an address of IPv4 or IPv6, unless it is there. -EINVAL: it is
 * neither; -ENOSPC: too many. */
int hk_san_add(struct hk_san *san, const char *name);

/* Adds what this machine is called and reached by, as far as it knows itself and there is room. */
void hk_san_add_machine(struct hk_san *san);

/* Writes the head before the names; the whole, which is SAN's, in *RET_DER. Its size. */
size_t hk_san_finish(struct hk_san *san, const uint8_t **ret_der);

#endif
