/* certificate.h: certificates, and why a peer's certificate is rejected. NNG says only that TLS
 * failed. This module opens a connection of its own, sends nothing over it, and inspects the peer's
 * certificates. Thread-safe, no state. */
#ifndef HK_WIRE_CERTIFICATE_H
#define HK_WIRE_CERTIFICATE_H

#include <stdbool.h>

#include "wire/access.h"

/* True if a certificate in TEXT (PEM) was made by keygen: the collector is then verified by the
 * name HK_ACCESS_NAME, not by its address. */
bool hk_certificate_is_own(const char *text);

/* Describes the problem with the certificates of the peer at URL, whose signers ACCESS trusts:
 * names or dates. The text is one line with a hint; "" if the problem is another, or no certificate
 * came within two seconds. Resolving the host's name is not bounded. */
void hk_certificate_problem(const char *url, const struct hk_access *access,
			    char problem[HK_ACCESS_PROBLEM_BYTES]);

#endif
