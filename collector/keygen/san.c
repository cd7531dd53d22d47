#include "collector/keygen/san.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <ifaddrs.h>
#include <mbedtls/x509_crt.h>
#include <net/if.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define NAME_MAX_BYTES 127u /* a length up to this takes one byte */
#define DOMAIN_PART_MAX 63u

/* Returns whether NAME is a host name: letters, digits, hyphens and dots. */
static bool is_host(const char *name)
{
	size_t part = 0;
	for (const char *c = name; *c; c++) {
		part = *c == '.' ? 0 : part + 1;
		bool fits = isalnum((unsigned char)*c) || *c == '-' || *c == '_' ||
			    (*c == '*' && c == name) || (*c == '.' && c > name && c[-1] != '.');
		if (!fits || part > DOMAIN_PART_MAX) {
			return false;
		}
	}
	return *name && strlen(name) <= NAME_MAX_BYTES;
}

/* Returns whether SAN has NAME. Each entry is a tag, a length, and bytes. */
static bool has(const struct hk_san *san, const uint8_t *name, size_t size)
{
	const uint8_t *at = san->bytes + HK_SAN_HEAD, *end = at + san->size;
	while (at < end) {
		if ((size_t)at[1] + 2 == size && memcmp(at, name, size) == 0) {
			return true;
		}
		at += at[1] + 2;
	}
	return false;
}

static int add(struct hk_san *san, uint8_t type, const void *bytes, size_t size)
{
	uint8_t name[2 + NAME_MAX_BYTES] = {(uint8_t)(MBEDTLS_ASN1_CONTEXT_SPECIFIC | type),
					    (uint8_t)size};
	memcpy(name + 2, bytes, size);
	if (has(san, name, size + 2)) {
		return 0;
	}
	if (size + 2 > HK_SAN_BYTES - san->size) {
		return -ENOSPC;
	}
	memcpy(san->bytes + HK_SAN_HEAD + san->size, name, size + 2);
	san->size += size + 2;
	return 0;
}

int hk_san_add(struct hk_san *san, const char *name)
{
	uint8_t address[sizeof(struct in6_addr)];
	if (inet_pton(AF_INET, name, address) == 1) {
		return add(san, MBEDTLS_X509_SAN_IP_ADDRESS, address, sizeof(struct in_addr));
	}
	if (inet_pton(AF_INET6, name, address) == 1) {
		return add(san, MBEDTLS_X509_SAN_IP_ADDRESS, address, sizeof(struct in6_addr));
	}
	return is_host(name) ? add(san, MBEDTLS_X509_SAN_DNS_NAME, name, strlen(name)) : -EINVAL;
}

static void add_address(struct hk_san *san, const struct sockaddr *address)
{
	if (address->sa_family == AF_INET) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)address;
		(void)add(san, MBEDTLS_X509_SAN_IP_ADDRESS, &in->sin_addr, sizeof(in->sin_addr));
	} else if (address->sa_family == AF_INET6) {
		const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)(const void *)address;
		/* Link-local addresses have no meaning on another link. */
		if (!IN6_IS_ADDR_LINKLOCAL(&in->sin6_addr)) {
			(void)add(san, MBEDTLS_X509_SAN_IP_ADDRESS, &in->sin6_addr,
				  sizeof(in->sin6_addr));
		}
	}
}

void hk_san_add_machine(struct hk_san *san)
{
	char host[256] = "";
	struct ifaddrs *list;
	(void)hk_san_add(san, "localhost");
	(void)hk_san_add(san, "127.0.0.1");
	(void)hk_san_add(san, "::1");
	if (gethostname(host, sizeof(host) - 1) == 0) {
		(void)hk_san_add(san, host);
		host[strcspn(host, ".")] = '\0';
		(void)hk_san_add(san, host);
	}
	if (getifaddrs(&list) < 0) {
		return;
	}
	for (const struct ifaddrs *one = list; one; one = one->ifa_next) {
		if (one->ifa_addr && (one->ifa_flags & IFF_UP)) {
			add_address(san, one->ifa_addr);
		}
	}
	freeifaddrs(list);
}

size_t hk_san_finish(struct hk_san *san, const uint8_t **ret_der)
{
	/* A length of 128 or more is preceded by a byte with its number of bytes. */
	size_t head = san->size < 0x80 ? 2 : san->size < 0x100 ? 3 : 4;
	uint8_t *der = san->bytes + HK_SAN_HEAD - head;
	der[0] = MBEDTLS_ASN1_CONSTRUCTED | MBEDTLS_ASN1_SEQUENCE;
	if (head > 2) {
		der[1] = (uint8_t)(0x80 + head - 2);
	}
	if (head == 4) {
		der[2] = (uint8_t)(san->size >> 8);
	}
	der[head - 1] = (uint8_t)san->size;
	*ret_der = der;
	return head + san->size;
}
