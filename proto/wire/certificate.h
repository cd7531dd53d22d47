/* certificate.h: certificates, and why the one that a peer shows is not taken.
 *
 * NNG says only that TLS failed. Here a connection of its own is made, nothing is sent over it, and
 * what the peer shows is looked at. Thread-safe, nothing is kept between calls.
 */
#ifndef HK_WIRE_CERTIFICATE_H
#define HK_WIRE_CERTIFICATE_H

#include <stdbool.h>

#include "wire/access.h"

/* True if one of the certificates in TEXT (PEM) is of our own making: then the collector is known
 * by the name HK_ACCESS_NAME, not by the address it happens to have. */
bool hk_certificate_is_own(const char *text);

/* What is wrong with the certificate that the peer at URL shows, where ACCESS trusts who signed it:
 * its names, its days. In one line with what helps; "" where it is something else, or nothing came
 * within two seconds. Looking up the host's name takes what it takes. */
void hk_certificate_problem(const char *url, const struct hk_access *access,
			    char problem[HK_ACCESS_PROBLEM_BYTES]);

#endif
