#include "collector/server/policy.h"

#include <errno.h>
#include <mbedtls/sha256.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOKENS_MAX 1024u
#define DIGEST_BYTES 32u
#define TOKEN_FIELD 8u /* number of hk.Request.token */
#define KEYGEN_HINT "`hookcollector keygen DIR` makes what is needed"

struct token {
	uint8_t digest[DIGEST_BYTES];
	enum hk_right right;
	char user[HK_ACCESS_USER_MAX + 1]; /* "": jobs of all users */
	size_t account;			   /* index of the first token of this user */
};

struct hk_policy {
	size_t count;
	struct token tokens[TOKENS_MAX];
};

static int check_listen(const struct hk_collector_options *options, bool tokens,
			char problem[HK_ACCESS_PROBLEM_BYTES])
{
	const char *url = options->listen;
	struct hk_access_url said = hk_access_url(url);
	const char *what = NULL;
	if (said.transport == HK_TRANSPORT_UNKNOWN) {
		what = "not of the form ipc://PATH, tcp://127.0.0.1:PORT or tls+tcp://ADDRESS:PORT";
	} else if (said.transport == HK_TRANSPORT_TCP && !said.loopback) {
		what = "others reach that: only with TLS and a token, as tls+tcp://; " KEYGEN_HINT;
	} else if (said.transport == HK_TRANSPORT_TLS &&
		   (!options->tls_certificate || !options->tls_key)) {
		what = "TLS wants --tls-cert and --tls-key; " KEYGEN_HINT;
	} else if (!said.loopback && !tokens) {
		what = "others reach that: --token-file says who may; " KEYGEN_HINT;
	}
	if (what) {
		snprintf(problem, HK_ACCESS_PROBLEM_BYTES, "--listen %s: %s", url, what);
		return -EINVAL;
	}
	return 0;
}

/* ---- tokens ---- */

static int add_token(void *context, enum hk_right right, const char *token, const char *user)
{
	struct hk_policy *policy = context;
	if (policy->count == TOKENS_MAX) {
		return -ENOSPC;
	}
	struct token *one = &policy->tokens[policy->count++];
	one->right = right;
	snprintf(one->user, sizeof(one->user), "%s", user);
	one->account = policy->count - 1;
	for (size_t i = policy->count - 1; *user && i-- > 0;) {
		if (strcmp(policy->tokens[i].user, user) == 0) {
			one->account = i;
		}
	}
	return mbedtls_sha256_ret((const unsigned char *)token, strlen(token), one->digest, 0) == 0
		   ? 0
		   : -EIO;
}

int hk_policy_open(const struct hk_collector_options *options, struct hk_policy **ret_policy,
		   char problem[HK_ACCESS_PROBLEM_BYTES])
{
	struct hk_policy *policy = calloc(1, sizeof(*policy));
	*problem = '\0';
	if (!policy) {
		return -ENOMEM;
	}
	int r = 0;
	if (options->token_file) {
		r = hk_access_tokens(options->token_file, add_token, policy, problem);
		if (r < 0 && !*problem) {
			snprintf(problem, HK_ACCESS_PROBLEM_BYTES, "%s: more than %u tokens",
				 options->token_file, TOKENS_MAX);
		}
	}
	r = r == 0 && options->listen ? check_listen(options, policy->count > 0, problem) : r;
	if (r < 0) {
		hk_policy_free(policy);
		return r;
	}
	*ret_policy = policy;
	return 0;
}

int hk_policy_http_url(const struct hk_collector_options *options, const struct hk_policy *policy,
		       char url[HK_REQUEST_URL_BYTES], char problem[HK_ACCESS_PROBLEM_BYTES])
{
	const char *what = NULL;
	int plain = snprintf(url, HK_REQUEST_URL_BYTES, "tcp://%s", options->http);
	struct hk_access_url said = hk_access_url(url);
	if (plain >= (int)HK_REQUEST_URL_BYTES - 4 || said.transport != HK_TRANSPORT_TCP) {
		what = "not of the form ADDRESS:PORT";
	} else if (said.loopback) {
		return 0;
	} else if (!options->tls_certificate || !options->tls_key) {
		what = "others reach that: only with TLS and a token, wants --tls-cert and "
		       "--tls-key; " KEYGEN_HINT;
	} else if (policy->count == 0) {
		what = "others reach that: --token-file says who may; " KEYGEN_HINT;
	}
	if (what) {
		snprintf(problem, HK_ACCESS_PROBLEM_BYTES, "--http %s: %s", options->http, what);
		return -EINVAL;
	}
	snprintf(url, HK_REQUEST_URL_BYTES, "tls+tcp://%s", options->http);
	return 0;
}

struct hk_policy *hk_policy_free(struct hk_policy *policy)
{
	free(policy);
	return NULL;
}

enum hk_right hk_policy_default_right(const struct hk_policy *policy, const char *url)
{
	struct hk_access_url said = hk_access_url(url);
	bool open = said.transport == HK_TRANSPORT_LOCAL || (said.loopback && policy->count == 0);
	return open ? HK_RIGHT_CONTROL : HK_RIGHT_NONE;
}

/* Returns 1 if A and B are equal, else 0. Compares every byte, so that the time is constant. */
static unsigned equal(const uint8_t *a, const uint8_t *b)
{
	volatile uint8_t difference = 0;
	for (size_t i = 0; i < DIGEST_BYTES; i++) {
		difference = (uint8_t)(difference | (a[i] ^ b[i]));
	}
	return (difference - 1u) >> 31;
}

enum hk_right hk_policy_right(const struct hk_policy *policy, const uint8_t *token, size_t size,
			      const char **ret_user, size_t *ret_account)
{
	uint8_t digest[DIGEST_BYTES];
	size_t which = 0; /* number of the token, from 1; 0: no token matches */
	*ret_user = "";
	if (size == 0 || mbedtls_sha256_ret(token, size, digest, 0) != 0) {
		return HK_RIGHT_NONE;
	}
	for (size_t i = 0; i < policy->count; i++) {
		/* Keeps the first match without a branch. */
		size_t found = equal(policy->tokens[i].digest, digest) * (which == 0);
		which += found * (i + 1);
	}
	if (which == 0) {
		return HK_RIGHT_NONE;
	}
	*ret_user = policy->tokens[which - 1].user;
	*ret_account = policy->tokens[which - 1].account;
	return policy->tokens[which - 1].right;
}

size_t hk_policy_accounts(const struct hk_policy *policy)
{
	return policy->count;
}

void hk_policy_account_name(const struct hk_policy *policy, size_t account, char *name, size_t size)
{
	const char *user = policy->tokens[account].user;
	if (*user) {
		snprintf(name, size, "%s", user);
	} else {
		snprintf(name, size, "token %zu", account + 1);
	}
}

/* ---- the token of a packed request ---- */

/* Reads a varint and advances *BYTES past it. Returns false if there is none. */
static bool take_varint(const uint8_t **bytes, const uint8_t *end, uint64_t *ret_value)
{
	uint64_t value = 0;
	for (unsigned shift = 0; shift < 64 && *bytes < end; shift += 7) {
		uint8_t byte = *(*bytes)++;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*ret_value = value;
			return true;
		}
	}
	return false;
}

size_t hk_policy_find_token(const uint8_t *bytes, size_t size, const uint8_t **ret_token)
{
	enum { VARINT = 0, FIXED64 = 1, DELIMITED = 2, FIXED32 = 5 };
	const uint8_t *end = bytes + size;
	uint64_t key, value;
	while (take_varint(&bytes, end, &key)) {
		switch (key & 7) {
		case VARINT:
			value = take_varint(&bytes, end, &value) ? 0 : UINT64_MAX;
			break;
		case FIXED64:
			value = 8;
			break;
		case FIXED32:
			value = 4;
			break;
		case DELIMITED:
			value = take_varint(&bytes, end, &value) ? value : UINT64_MAX;
			break;
		default:
			return 0;
		}
		if (value > (uint64_t)(end - bytes)) {
			return 0;
		}
		if (key == (TOKEN_FIELD << 3 | DELIMITED)) {
			*ret_token = bytes;
			return (size_t)value;
		}
		bytes += value;
	}
	return 0;
}
