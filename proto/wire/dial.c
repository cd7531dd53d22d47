#include "wire/dial.h"

#include <errno.h>
#include <nng/nng.h>
#include <nng/supplemental/tls/tls.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/certificate.h"
#include "wire/key_file.h"
#include "wire/nng_error.h"

static int set_server_name(nng_tls_config *tls, const char *authorities, const char *url)
{
	nng_url *parsed;
	if (hk_certificate_is_own(authorities)) {
		return nng_tls_config_server_name(tls, HK_ACCESS_NAME);
	}
	int r = nng_url_parse(&parsed, url);
	if (r == 0) {
		r = nng_tls_config_server_name(tls, parsed->u_hostname);
		nng_url_free(parsed);
	}
	return r;
}

static int trust(nng_tls_config *tls, const struct hk_access *access, const char *url,
		 char problem[HK_ACCESS_PROBLEM_BYTES])
{
	char *text;
	int r = hk_key_file_read(access->authorities, false, &text, problem);
	if (r < 0) {
		return r;
	}
	if (nng_tls_config_ca_chain(tls, text, NULL) != 0) {
		r = hk_key_file_complain(problem, -EINVAL, access->authorities,
					 "no certificate in it");
	} else if (nng_tls_config_auth_mode(tls, NNG_TLS_AUTH_MODE_REQUIRED) != 0 ||
		   (url && set_server_name(tls, text, url) != 0)) {
		r = -ENOMEM;
	}
	free(text);
	return r;
}

static int show(nng_tls_config *tls, const struct hk_access *access,
		char problem[HK_ACCESS_PROBLEM_BYTES])
{
	char *certificate, *key;
	int r = hk_key_file_read(access->certificate, false, &certificate, problem);
	if (r < 0) {
		return r;
	}
	r = hk_key_file_read(access->key, true, &key, problem);
	if (r == 0) {
		if (nng_tls_config_own_cert(tls, certificate, key, NULL) != 0) {
			r = hk_key_file_complain(problem, -EINVAL, access->key,
						 "no key, or not that of the certificate");
		}
		explicit_bzero(key, strlen(key));
		free(key);
	}
	free(certificate);
	return r;
}

int hk_dial_tls(const struct hk_access *access, const char *url, nng_tls_config **ret_tls,
		char problem[HK_ACCESS_PROBLEM_BYTES])
{
	nng_tls_config *tls;
	*problem = '\0';
	if (url && !access->authorities) {
		snprintf(problem, HK_ACCESS_PROBLEM_BYTES,
			 "whom to trust? --tls-ca FILE names the certificate of the collector");
		return -EINVAL;
	}
	if (!access->certificate != !access->key) {
		snprintf(problem, HK_ACCESS_PROBLEM_BYTES,
			 "--tls-cert and --tls-key belong together");
		return -EINVAL;
	}
	if (nng_tls_config_alloc(&tls, url ? NNG_TLS_MODE_CLIENT : NNG_TLS_MODE_SERVER) != 0) {
		return -ENOMEM;
	}
	int r = nng_tls_config_version(tls, NNG_TLS_1_2, NNG_TLS_1_2) == 0 ? 0 : -ENOTSUP;
	r = r == 0 && access->authorities ? trust(tls, access, url, problem) : r;
	r = r == 0 && access->certificate ? show(tls, access, problem) : r;
	if (r < 0) {
		nng_tls_config_free(tls);
		return r;
	}
	*ret_tls = tls;
	return 0;
}

/* *RET_TLS: NULL if URL needs no TLS. */
static int prepare(const char *url, const struct hk_access *access, nng_tls_config **ret_tls,
		   char problem[HK_ACCESS_PROBLEM_BYTES])
{
	struct hk_access_url said = hk_access_url(url);
	*problem = '\0';
	*ret_tls = NULL;
	if (said.transport == HK_TRANSPORT_UNKNOWN) {
		return -EINVAL;
	}
	if (said.transport == HK_TRANSPORT_TCP && !said.loopback) {
		snprintf(problem, HK_ACCESS_PROBLEM_BYTES,
			 "beyond this machine only with TLS: tls+%s", url);
		return -EINVAL;
	}
	return said.transport == HK_TRANSPORT_TLS ? hk_dial_tls(access, url, ret_tls, problem) : 0;
}

int hk_dial_check(const char *url, const struct hk_access *access,
		  char problem[HK_ACCESS_PROBLEM_BYTES])
{
	nng_tls_config *tls;
	int r = prepare(url, access, &tls, problem);
	if (r == 0 && tls) {
		nng_tls_config_free(tls);
	}
	return r;
}

struct deadline {
	nng_dialer dialer;
	nng_aio *aio;
	bool passed;
};

static void give_up(void *data)
{
	struct deadline *deadline = data;
	deadline->passed = nng_aio_result(deadline->aio) == 0;
	if (deadline->passed) {
		nng_dialer_close(deadline->dialer);
	}
}

/* nng_dialer_start alone waits 10 s for the greeting of a peer that accepts and sends no bytes. */
static int start(nng_dialer dialer, int timeout_ms)
{
	struct deadline deadline = {.dialer = dialer};
	int r = nng_aio_alloc(&deadline.aio, give_up, &deadline);
	if (r) {
		return r;
	}
	nng_sleep_aio(timeout_ms, deadline.aio);
	r = nng_dialer_start(dialer, 0);
	nng_aio_stop(deadline.aio);
	nng_aio_free(deadline.aio);
	return deadline.passed ? NNG_ETIMEDOUT : r;
}

int hk_dial(nng_socket socket, const char *url, const struct hk_access *access, int timeout_ms,
	    char problem[HK_ACCESS_PROBLEM_BYTES])
{
	static const struct hk_access nothing;
	nng_tls_config *tls;
	nng_dialer dialer;
	int r = prepare(url, access ? access : &nothing, &tls, problem);
	if (r < 0) {
		return r;
	}
	r = nng_dialer_create(&dialer, socket, url);
	if (r == 0 && tls) {
		r = nng_dialer_set_ptr(dialer, NNG_OPT_TLS_CONFIG, tls);
	}
	if (r == 0) {
		r = timeout_ms > 0
			? start(dialer, timeout_ms)
			: nng_dialer_start(dialer, timeout_ms == 0 ? NNG_FLAG_NONBLOCK : 0);
	}
	if (tls) {
		nng_tls_config_free(tls);
	}
	/* The form of the URL was checked before: only an unknown host or port is left. */
	if (tls && r == NNG_EADDRINVAL) {
		snprintf(
		    problem, HK_ACCESS_PROBLEM_BYTES,
		    "%s: no such host or port is known here; it looks like tls+tcp://HOST:4440",
		    url);
	}
	/* The peer closed without an answer, or with a reset of our data. */
	bool hung_up = r == NNG_ECONNSHUT || r == NNG_ECONNRESET || r == NNG_ECONNABORTED;
	return hung_up && !tls ? -EPIPE : hk_nng_errno(r);
}
