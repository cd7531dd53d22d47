#include "wire/certificate.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <mbedtls/ctr_drbg.h>
#include <mbedtls/entropy.h>
#include <mbedtls/net_sockets.h>
#include <mbedtls/oid.h>
#include <mbedtls/ssl.h>
#include <mbedtls/x509_crt.h>
#include <netdb.h>
#include <nng/nng.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

#define PATIENCE_NS UINT64_C(2000000000)
#define NAMES_BYTES 96u
#define DAY_BYTES 16u
/* Problems that are reported, of the peer's certificate or its signer's. */
#define REPORTED_FLAGS                                                     \
	(MBEDTLS_X509_BADCERT_CN_MISMATCH | MBEDTLS_X509_BADCERT_EXPIRED | \
	 MBEDTLS_X509_BADCERT_FUTURE)

static bool is_own(const mbedtls_x509_crt *chain)
{
	bool found = false;
	for (; chain && !found; chain = chain->next) {
		char name[256];
		found = mbedtls_x509_dn_gets(name, sizeof(name), &chain->subject) > 0 &&
			strcmp(name, "CN=" HK_ACCESS_NAME) == 0;
	}
	return found;
}

bool hk_certificate_is_own(const char *text)
{
	mbedtls_x509_crt chain;
	mbedtls_x509_crt_init(&chain);
	bool found =
	    mbedtls_x509_crt_parse(&chain, (const unsigned char *)text, strlen(text) + 1) >= 0 &&
	    is_own(&chain);
	mbedtls_x509_crt_free(&chain);
	return found;
}

/* ---- content ---- */

struct shown {
	const char *name;	 /* name that the client asks for */
	uint32_t flags;		 /* MBEDTLS_X509_BADCERT_*, of the whole chain */
	char names[NAMES_BYTES]; /* names that it is valid for */
	bool at_address;	 /* the name is an address, and the certificate is valid for it */
	bool signer;		 /* the dates are those of the signing certificate */
	char from[DAY_BYTES], to[DAY_BYTES];
};

/* The bytes are untrusted. Adds one more name, if all of it fits. */
static void add_name(struct shown *shown, const void *bytes, size_t size)
{
	size_t used = strlen(shown->names), gap = used ? 2 : 0;
	if (size == 0 || used + gap >= NAMES_BYTES || size >= NAMES_BYTES - used - gap) {
		return;
	}
	memcpy(shown->names + used, ", ", gap);
	char *to = shown->names + used + gap;
	for (size_t i = 0; i < size; i++) {
		unsigned char byte = ((const unsigned char *)bytes)[i];
		to[i] = isalnum(byte) || (byte && strchr("-._*:", byte)) ? (char)byte : '?';
	}
	to[size] = '\0';
	/* A common name is often among the alternative names, too. */
	if (used >= size && strncmp(shown->names, to, size) == 0 &&
	    (shown->names[size] == ',' || shown->names[size] == '\0' || used == size)) {
		shown->names[used] = '\0';
	}
}

/* Whether NAME says the address in BYTES. */
static bool is_address(const char *name, const mbedtls_x509_buf *bytes)
{
	unsigned char address[sizeof(struct in6_addr)];
	return inet_pton(bytes->len == 4 ? AF_INET : AF_INET6, name, address) == 1 &&
	       memcmp(address, bytes->p, bytes->len) == 0;
}

static void add_names(struct shown *shown, const mbedtls_x509_crt *certificate)
{
	const mbedtls_x509_name *part;
	for (part = &certificate->subject; part; part = part->next) {
		if (MBEDTLS_OID_CMP(MBEDTLS_OID_AT_CN, &part->oid) == 0) {
			add_name(shown, part->val.p, part->val.len);
		}
	}
	const mbedtls_x509_sequence *other = &certificate->subject_alt_names;
	for (; other && other->buf.p; other = other->next) {
		char text[INET6_ADDRSTRLEN];
		int type = other->buf.tag & MBEDTLS_ASN1_TAG_VALUE_MASK;
		size_t size = other->buf.len;
		if (type == MBEDTLS_X509_SAN_DNS_NAME) {
			add_name(shown, other->buf.p, size);
		} else if (type == MBEDTLS_X509_SAN_IP_ADDRESS && (size == 4 || size == 16) &&
			   inet_ntop(size == 4 ? AF_INET : AF_INET6, other->buf.p, text,
				     sizeof(text))) {
			add_name(shown, text, strlen(text));
			shown->at_address |= is_address(shown->name, &other->buf);
		}
	}
}

static void day(char text[DAY_BYTES], const mbedtls_x509_time *time)
{
	snprintf(text, DAY_BYTES, "%04d-%02d-%02d", time->year % 10000, time->mon % 100,
		 time->day % 100);
}

/* Signing certificates come before those that they signed. */
static int take(void *context, mbedtls_x509_crt *certificate, int depth, uint32_t *flags)
{
	struct shown *shown = context;
	shown->flags |= *flags;
	if (depth == 0) {
		add_names(shown, certificate);
	}
	if (*flags & (MBEDTLS_X509_BADCERT_EXPIRED | MBEDTLS_X509_BADCERT_FUTURE)) {
		shown->signer = depth > 0;
		day(shown->from, &certificate->valid_from);
		day(shown->to, &certificate->valid_to);
	}
	return 0;
}

/* ---- a connection ---- */

struct handshake {
	int fd;
	uint64_t until_ns; /* monotonic */
	mbedtls_entropy_context entropy;
	mbedtls_ctr_drbg_context random;
	mbedtls_x509_crt authorities;
	mbedtls_ssl_config config;
	mbedtls_ssl_context ssl;
};

/* Waits for EVENTS of the descriptor; returns whether they came in time. */
static bool await(const struct handshake *handshake, short events)
{
	struct pollfd wait = {.fd = handshake->fd, .events = events};
	int r;
	do {
		uint64_t now = hk_clock_monotonic_ns();
		if (now >= handshake->until_ns) {
			return false; /* time is up, even if the peer still sends */
		}
		r = poll(&wait, 1, (int)((handshake->until_ns - now) / 1000000));
	} while (r < 0 && errno == EINTR);
	return r > 0;
}

static int send_bytes(void *context, const unsigned char *bytes, size_t size)
{
	const struct handshake *handshake = context;
	ssize_t done =
	    await(handshake, POLLOUT) ? send(handshake->fd, bytes, size, MSG_NOSIGNAL) : -1;
	return done < 0 ? MBEDTLS_ERR_NET_SEND_FAILED : (int)done;
}

static int receive_bytes(void *context, unsigned char *bytes, size_t size)
{
	const struct handshake *handshake = context;
	ssize_t done = await(handshake, POLLIN) ? recv(handshake->fd, bytes, size, 0) : -1;
	return done < 0 ? MBEDTLS_ERR_NET_RECV_FAILED : (int)done;
}

static bool try_address(struct handshake *handshake, const struct addrinfo *to)
{
	int error = 0;
	socklen_t size = sizeof(error);
	handshake->fd =
	    socket(to->ai_family, to->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, to->ai_protocol);
	if (handshake->fd < 0) {
		return false;
	}
	if (connect(handshake->fd, to->ai_addr, to->ai_addrlen) == 0) {
		return true;
	}
	if (errno == EINPROGRESS && await(handshake, POLLOUT) &&
	    getsockopt(handshake->fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0) {
		return true;
	}
	close(handshake->fd);
	handshake->fd = -1;
	return false;
}

static bool connect_to(struct handshake *handshake, const nng_url *url)
{
	char last = url->u_scheme[strlen(url->u_scheme) - 1]; /* tls+tcp4, tls+tcp6 */
	const struct addrinfo hints = {.ai_family = last == '4'	  ? AF_INET
						    : last == '6' ? AF_INET6
								  : AF_UNSPEC,
				       .ai_socktype = SOCK_STREAM};
	struct addrinfo *list;
	if (getaddrinfo(url->u_hostname, url->u_port, &hints, &list) != 0) {
		return false;
	}
	handshake->until_ns = hk_clock_monotonic_ns() + PATIENCE_NS;
	bool done = false;
	for (const struct addrinfo *one = list; one && !done; one = one->ai_next) {
		done = try_address(handshake, one);
	}
	freeaddrinfo(list);
	return done;
}

static void handshake_init(struct handshake *handshake)
{
	handshake->fd = -1;
	mbedtls_entropy_init(&handshake->entropy);
	mbedtls_ctr_drbg_init(&handshake->random);
	mbedtls_x509_crt_init(&handshake->authorities);
	mbedtls_ssl_config_init(&handshake->config);
	mbedtls_ssl_init(&handshake->ssl);
}

static void handshake_fini(struct handshake *handshake)
{
	mbedtls_ssl_free(&handshake->ssl);
	mbedtls_ssl_config_free(&handshake->config);
	mbedtls_x509_crt_free(&handshake->authorities);
	mbedtls_ctr_drbg_free(&handshake->random);
	mbedtls_entropy_free(&handshake->entropy);
	if (handshake->fd >= 0) {
		close(handshake->fd);
	}
}

/* Sets TLS up as hk_dial_tls does, except that SHOWN receives the verification's result. */
static bool set_up(struct handshake *handshake, struct shown *shown)
{
	mbedtls_ssl_config *config = &handshake->config;
	if (mbedtls_ctr_drbg_seed(&handshake->random, mbedtls_entropy_func, &handshake->entropy,
				  NULL, 0) ||
	    mbedtls_ssl_config_defaults(config, MBEDTLS_SSL_IS_CLIENT, MBEDTLS_SSL_TRANSPORT_STREAM,
					MBEDTLS_SSL_PRESET_DEFAULT)) {
		return false;
	}
	mbedtls_ssl_conf_rng(config, mbedtls_ctr_drbg_random, &handshake->random);
	mbedtls_ssl_conf_authmode(config, MBEDTLS_SSL_VERIFY_OPTIONAL);
	mbedtls_ssl_conf_ca_chain(config, &handshake->authorities, NULL);
	mbedtls_ssl_conf_verify(config, take, shown);
	mbedtls_ssl_set_bio(&handshake->ssl, handshake, send_bytes, receive_bytes, NULL);
	return mbedtls_ssl_setup(&handshake->ssl, config) == 0 &&
	       mbedtls_ssl_set_hostname(&handshake->ssl, shown->name) == 0;
}

/* Reads the peer's certificates. */
static void inspect(struct handshake *handshake, const nng_url *url, const struct hk_access *access,
		    struct shown *shown)
{
	if (mbedtls_x509_crt_parse_file(&handshake->authorities, access->authorities) < 0) {
		return;
	}
	shown->name = is_own(&handshake->authorities) ? HK_ACCESS_NAME : url->u_hostname;
	if (set_up(handshake, shown) && connect_to(handshake, url)) {
		/* The certificates have arrived whether or not the handshake succeeds. */
		(void)mbedtls_ssl_handshake(&handshake->ssl);
	}
}

static void tell_days(const struct shown *shown, const char *advice,
		      char problem[HK_ACCESS_PROBLEM_BYTES])
{
	const char *which = shown->signer ? "of the signer there" : "there";
	if (shown->flags & MBEDTLS_X509_BADCERT_EXPIRED) {
		snprintf(problem, HK_ACCESS_PROBLEM_BYTES,
			 "the certificate %s was good until %s, UTC: make another one; %s", which,
			 shown->to, advice);
	} else {
		snprintf(problem, HK_ACCESS_PROBLEM_BYTES,
			 "the certificate %s is good from %s, UTC, on only (check the clocks)",
			 which, shown->from);
	}
}

static void tell(const struct shown *shown, char problem[HK_ACCESS_PROBLEM_BYTES])
{
	static const char advice[] = "hookcollector keygen DIR makes one that holds at any address";
	if (shown->flags == 0 || (shown->flags & ~(uint32_t)REPORTED_FLAGS) != 0) {
		return;
	}
	if (shown->flags & (MBEDTLS_X509_BADCERT_EXPIRED | MBEDTLS_X509_BADCERT_FUTURE)) {
		tell_days(shown, advice, problem);
	} else if (shown->at_address) {
		snprintf(problem, HK_ACCESS_PROBLEM_BYTES,
			 "the certificate there is for %s, but TLS here compares names of hosts "
			 "only, not addresses such as %s: ask for it by its name, or %s",
			 shown->names, shown->name, advice);
	} else {
		snprintf(problem, HK_ACCESS_PROBLEM_BYTES,
			 "the certificate there is for %s, not for the name %s: ask for it by its "
			 "name, or %s",
			 *shown->names ? shown->names : "no name", shown->name, advice);
	}
}

void hk_certificate_problem(const char *url, const struct hk_access *access,
			    char problem[HK_ACCESS_PROBLEM_BYTES])
{
	struct shown shown = {.name = ""};
	struct handshake handshake;
	nng_url *parsed;
	*problem = '\0';
	if (!access || !access->authorities || nng_url_parse(&parsed, url) != 0) {
		return;
	}
	handshake_init(&handshake);
	inspect(&handshake, parsed, access, &shown);
	handshake_fini(&handshake);
	tell(&shown, problem);
	nng_url_free(parsed);
}
