#include "wire/access.h"

#include <errno.h>
#include <fcntl.h>
#include <nng/supplemental/tls/tls.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wire/certificate.h"
#include "wire/request.h"

#define FILE_BYTES_MAX (1u << 20)

/* ---- URLs ---- */

static enum hk_transport transport_of(const char *scheme)
{
	static const struct {
		const char *scheme;
		enum hk_transport transport;
	} known[] = {
	    {"ipc", HK_TRANSPORT_LOCAL},    {"tcp", HK_TRANSPORT_TCP},
	    {"tcp4", HK_TRANSPORT_TCP},	    {"tcp6", HK_TRANSPORT_TCP},
	    {"tls+tcp", HK_TRANSPORT_TLS},  {"tls+tcp4", HK_TRANSPORT_TLS},
	    {"tls+tcp6", HK_TRANSPORT_TLS},
	};
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(known[i].scheme, scheme) == 0) {
			return known[i].transport;
		}
	}
	return HK_TRANSPORT_UNKNOWN;
}

static bool is_loopback(const char *host)
{
	unsigned a, b, c, d;
	char rest;
	return strcmp(host, "localhost") == 0 || strcmp(host, "::1") == 0 ||
	       (sscanf(host, "%3u.%3u.%3u.%3u%c", &a, &b, &c, &d, &rest) == 4 && a == 127 &&
		(b | c | d) < 256);
}

struct hk_access_url hk_access_url(const char *url)
{
	struct hk_access_url said = {HK_TRANSPORT_UNKNOWN, 0};
	nng_url *parsed;
	if (nng_url_parse(&parsed, url) != 0) {
		return said;
	}
	said.transport = transport_of(parsed->u_scheme);
	said.loopback = said.transport == HK_TRANSPORT_LOCAL ||
			(parsed->u_hostname && is_loopback(parsed->u_hostname));
	nng_url_free(parsed);
	return said;
}

/* ---- files ---- */

static int complain(char problem[HK_ACCESS_PROBLEM_BYTES], int error, const char *file,
		    const char *what)
{
	snprintf(problem, HK_ACCESS_PROBLEM_BYTES, "%s: %s", file, what);
	return error;
}

/* The whole of FILE with a NUL behind it, the caller's to free. SECRET: others must not read it. */
static int read_file(const char *file, bool secret, char **ret_text,
		     char problem[HK_ACCESS_PROBLEM_BYTES])
{
	struct stat status;
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &status) < 0) {
		int r = -errno;
		if (fd >= 0) {
			close(fd);
		}
		return complain(problem, r, file, strerror(-r));
	}
	const char *what = NULL;
	/* Root may let a group of ours read it: so Kubernetes hands secrets out. */
	bool shared = status.st_uid == 0 && geteuid() != 0;
	if (!S_ISREG(status.st_mode) || status.st_size > FILE_BYTES_MAX) {
		what = "not a file of keys";
	} else if (secret && (status.st_mode & (shared ? 037 : 077)) != 0) {
		what = "others may read or write it: chmod 600 it";
	} else if (secret && status.st_uid != geteuid() && status.st_uid != 0) {
		what = "somebody else owns it";
	}
	if (what) {
		close(fd);
		return complain(problem, -EACCES, file, what);
	}
	char *text = calloc(1, (size_t)status.st_size + 1);
	ssize_t size = text ? read(fd, text, (size_t)status.st_size) : -1;
	int r = !text ? -ENOMEM : size < 0 ? -errno : 0;
	close(fd);
	if (r < 0) {
		free(text);
		return complain(problem, r, file, strerror(-r));
	}
	*ret_text = text;
	return 0;
}

/* ---- tokens ---- */

/* One line, which is changed. 0: none on it; -EINVAL. */
static int parse_line(char *line, enum hk_right *ret_right, const char **ret_token,
		      const char **ret_user)
{
	char *at;
	const char *word = strtok_r(line, " \t\r", &at);
	*ret_right = HK_RIGHT_NONE;
	if (!word || *word == '#') {
		return 0;
	}
	*ret_right = strcmp(word, "read") == 0	    ? HK_RIGHT_READ
		     : strcmp(word, "control") == 0 ? HK_RIGHT_CONTROL
						    : HK_RIGHT_NONE;
	*ret_token = strtok_r(NULL, " \t\r", &at);
	const char *user = *ret_token ? strtok_r(NULL, " \t\r", &at) : NULL;
	*ret_user = user ? user : "";
	bool right =
	    *ret_right != HK_RIGHT_NONE && *ret_token && !(user && strtok_r(NULL, " \t\r", &at)) &&
	    strlen(*ret_user) <= HK_ACCESS_USER_MAX && strlen(*ret_token) >= HK_ACCESS_TOKEN_MIN &&
	    strlen(*ret_token) <= HK_ACCESS_TOKEN_MAX;
	return right ? 1 : -EINVAL;
}

int hk_access_tokens(const char *file, hk_access_take take, void *context,
		     char problem[HK_ACCESS_PROBLEM_BYTES])
{
	char *text, *rest, *line;
	unsigned number = 0, found = 0;
	int r = read_file(file, true, &text, problem);
	if (r < 0) {
		return r;
	}
	rest = text;
	while (r == 0 && (line = strsep(&rest, "\n")) != NULL) {
		enum hk_right right;
		const char *token, *user;
		number++;
		r = parse_line(line, &right, &token, &user);
		if (r < 0) {
			/* The line may hold a token: it is not shown. */
			snprintf(problem, HK_ACCESS_PROBLEM_BYTES,
				 "%s:%u: not 'read TOKEN [USER]' or 'control TOKEN [USER]' with "
				 "a token of %u to %u characters",
				 file, number, HK_ACCESS_TOKEN_MIN, HK_ACCESS_TOKEN_MAX);
		} else if (r > 0) {
			found++;
			r = take(context, right, token, user);
		}
	}
	explicit_bzero(text, strlen(text));
	free(text);
	return r == 0 && found == 0 ? complain(problem, -EINVAL, file, "no token in it") : r;
}

struct best {
	enum hk_right right;
	char *token;
};

static int keep_best(void *context, enum hk_right right, const char *token, const char *user)
{
	struct best *best = context;
	(void)user; /* the collector knows */
	if (right > best->right) {
		best->right = right;
		snprintf(best->token, HK_ACCESS_TOKEN_MAX + 1, "%s", token);
	}
	return 0;
}

int hk_access_token(const char *file, char token[HK_ACCESS_TOKEN_MAX + 1],
		    char problem[HK_ACCESS_PROBLEM_BYTES])
{
	struct best best = {HK_RIGHT_NONE, token};
	*token = '\0';
	return hk_access_tokens(file, keep_best, &best, problem);
}

/* ---- certificates ---- */

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
	int r = read_file(access->authorities, false, &text, problem);
	if (r < 0) {
		return r;
	}
	if (nng_tls_config_ca_chain(tls, text, NULL) != 0) {
		r = complain(problem, -EINVAL, access->authorities, "no certificate in it");
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
	int r = read_file(access->certificate, false, &certificate, problem);
	if (r < 0) {
		return r;
	}
	r = read_file(access->key, true, &key, problem);
	if (r == 0) {
		if (nng_tls_config_own_cert(tls, certificate, key, NULL) != 0) {
			r = complain(problem, -EINVAL, access->key,
				     "no key, or not that of the certificate");
		}
		explicit_bzero(key, strlen(key));
		free(key);
	}
	free(certificate);
	return r;
}

int hk_access_tls(const struct hk_access *access, const char *url, nng_tls_config **ret_tls,
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

/* *RET_TLS: NULL where URL wants none. */
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
	return said.transport == HK_TRANSPORT_TLS ? hk_access_tls(access, url, ret_tls, problem)
						  : 0;
}

int hk_access_check(const char *url, const struct hk_access *access,
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

/* nng_dialer_start alone waits 10 s for the greeting of a peer that has accepted and says nothing.
 */
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

int hk_access_dial(nng_socket socket, const char *url, const struct hk_access *access,
		   int timeout_ms, char problem[HK_ACCESS_PROBLEM_BYTES])
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
	/* How the URL looks was checked before: what is left is a name that says nothing here. */
	if (tls && r == NNG_EADDRINVAL) {
		snprintf(
		    problem, HK_ACCESS_PROBLEM_BYTES,
		    "%s: no such host or port is known here; it looks like tls+tcp://HOST:4440",
		    url);
	}
	/* Without a word, but for a reset where ours had come. */
	bool hung_up = r == NNG_ECONNSHUT || r == NNG_ECONNRESET || r == NNG_ECONNABORTED;
	return hung_up && !tls ? -EPIPE : hk_request_errno(r);
}
