#include "cli/job/collector_client.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "cli/command.h"
#include "cli/job/collector_process.h"

/* Reason why the last call was not possible, in its settings or from the collector; "": no
 * problem. */
static char problem[HK_ACCESS_PROBLEM_BYTES];

/* Returns -EACCES, frees RESPONSE and sets `problem` if the collector refused the client, not the
 * request. Else returns 0. */
static int refused(Hk__Response *response)
{
	if (response->error != -EACCES) {
		return 0;
	}
	snprintf(problem, sizeof(problem), "%s",
		 *response->text ? response->text : strerror(EACCES));
	hk__response__free_unpacked(response, NULL);
	return -EACCES;
}

/* Returns the process id of the collector at URL if it is stopped, else 0. The next call for the
 * same URL does not wait for it to be continued. */
static int stopped(const char *url)
{
	static char known[PATH_MAX];
	int pid = hk_collector_process_stopped_at(
	    url, strcmp(known, url) == 0 ? 0 : HK_COLLECTOR_PROCESS_PATIENCE_NS);

	snprintf(known, sizeof(known), "%s", pid ? url : "");
	return pid;
}

int hk_client_call(const char *url, Hk__Request *request, int timeout_ms,
		   Hk__Response **ret_response)
{
	const struct hk_access access = {
	    .token_file = hk_command_setting("token-file"),
	    .authorities = hk_command_setting("tls-ca"),
	    .certificate = hk_command_setting("tls-cert"),
	    .key = hk_command_setting("tls-key"),
	};

	*problem = '\0';
	request->version = (char *)HK_VERSION;
	if (!url) {
		return -ECONNREFUSED;
	}
	if (stopped(url)) {
		return -ETIMEDOUT;
	}
	int r = hk_request_call_as(url, &access, request, timeout_ms, ret_response, problem);
	r = r < 0 ? r : refused(*ret_response);
	/* A missing key file must not be reported as a missing job. */
	return *problem ? -EACCES : r;
}

const char *hk_client_reason(int error)
{
	static char reason[HK_ACCESS_PROBLEM_BYTES + 32];

	switch (error) {
	case -EHOSTUNREACH:
		return "cannot be reached from here";
	case -ECONNREFUSED:
	case -ETIMEDOUT:
		return "does not answer";
	case -EKEYREJECTED:
		return "is not trusted (--tls-ca, --tls-cert)";
	case -EPIPE:
		return "hangs up at once: a proxy without a collector, or one that wants TLS";
	case -EPROTO:
		return "does not talk as a collector, or wants TLS";
	default:
		snprintf(reason, sizeof(reason), "cannot be asked (%s)",
			 *problem ? problem : strerror(-error));
		return reason;
	}
}

int hk_client_failed(const char *url, int error)
{
	int pid;
	bool remote = url && hk_access_url(url).transport > HK_TRANSPORT_LOCAL;

	if (*problem) {
		hk_error("%s", problem);
		return HK_EXIT_FAILED;
	}
	switch (error) {
	case -EHOSTUNREACH:
		hk_error(
		    "%s cannot be reached from here: check the address, the network and firewalls",
		    url);
		return HK_EXIT_ABSENT;
	case -ECONNREFUSED:
		hk_error("no collector is running%s%s: %s", url ? " at " : "", url ? url : "",
			 remote ? "start one there with: hookcollector --listen"
				: HK_CLIENT_START_HINT);
		return HK_EXIT_ABSENT;
	case -ETIMEDOUT:
		if ((pid = stopped(url)) != 0) {
			hk_error("the collector at %s does not answer, it is stopped: continue it "
				 "with kill -CONT %d",
				 url, pid);
		} else {
			hk_error("the collector at %s does not answer: look at its log or restart "
				 "it",
				 url);
		}
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
	case -EPIPE:
		hk_error(
		    "the peer at %s hangs up at once: a proxy or tunnel without a collector, or "
		    "one that wants TLS, which is reached with: --collector "
		    "tls+tcp://HOST:PORT --tls-ca FILE",
		    url);
		return HK_EXIT_FAILED;
	case -EPROTO:
		hk_error("what answers at %s, or a proxy on the way, does not talk as a collector; "
			 "one that wants TLS is reached with: --collector tls+tcp://HOST:PORT "
			 "--tls-ca FILE",
			 url);
		return HK_EXIT_FAILED;
	default:
		hk_error("the collector at %s: %s", url, strerror(-error));
		return HK_EXIT_FAILED;
	}
}

int hk_client_request(const char *url, Hk__Request *request, Hk__Response **ret_response)
{
	Hk__Response *response;
	int r = hk_client_call(url, request, HK_CLIENT_TIMEOUT_MS, &response);

	if (r < 0) {
		return hk_client_failed(url, r);
	}
	if (response->error < 0) {
		int code = response->error == -ENOENT ? HK_EXIT_ABSENT : HK_EXIT_FAILED;
		hk_error("%s", *response->text ? response->text : strerror(-response->error));
		hk__response__free_unpacked(response, NULL);
		return code;
	}
	*ret_response = response;
	return HK_EXIT_DONE;
}
