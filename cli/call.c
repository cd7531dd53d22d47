#include "call.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/log.h"
#include "command.h"

/* What was wrong with the settings of the last call, "" for nothing. */
static char problem[HK_ACCESS_PROBLEM_BYTES];

int hk_call(const char *url, Hk__Request *request, int timeout_ms, Hk__Response **ret_response)
{
	const struct hk_access access = {
	    .token_file = hk_command_setting("token-file"),
	    .authorities = hk_command_setting("tls-ca"),
	    .certificate = hk_command_setting("tls-cert"),
	    .key = hk_command_setting("tls-key"),
	};

	*problem = '\0';
	request->version = (char *)HK_VERSION;
	return url ? hk_request_call_as(url, &access, request, timeout_ms, ret_response, problem)
		   : -ECONNREFUSED;
}

int hk_call_failed(const char *url, int error)
{
	bool remote = url && hk_access_url(url).transport > HK_TRANSPORT_LOCAL;

	if (*problem) {
		hk_error("%s", problem);
		return HK_EXIT_FAILED;
	}
	switch (error) {
	case -ECONNREFUSED:
	case -EHOSTUNREACH:
		hk_error("no collector is running%s%s: %s", url ? " at " : "", url ? url : "",
			 remote ? "start one there with: hookcollector --listen"
				: HK_CALL_START_HINT);
		return HK_EXIT_ABSENT;
	case -ETIMEDOUT:
		hk_error("the collector at %s does not answer: look at its log or restart it", url);
		return HK_EXIT_ABSENT;
	case -EINVAL:
		hk_error("'%s' is no collector's address: it looks like "
			 "ipc:///run/dir/collector.sock or tls+tcp://HOST:PORT",
			 url);
		return HK_EXIT_USAGE;
	case -EKEYREJECTED:
		hk_error("no trust in %s: --tls-ca must name the certificate that it was started "
			 "with, --tls-cert (if it speaks TLS at all)",
			 url);
		return HK_EXIT_FAILED;
	case -EPROTO:
		hk_error("%s does not talk as a collector; one that wants TLS is reached with: "
			 "--collector tls+tcp://HOST:PORT --tls-ca FILE",
			 url);
		return HK_EXIT_FAILED;
	default:
		hk_error("the collector at %s: %s", url, strerror(-error));
		return HK_EXIT_FAILED;
	}
}
