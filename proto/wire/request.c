#include "wire/request.h"

#include <errno.h>
#include <nng/nng.h>
#include <nng/protocol/reqrep0/req.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/room.h"
#include "base/rundir.h"
#include "wire/certificate.h"
#include "wire/dial.h"
#include "wire/nng_error.h"

#define SOCKET_PATH_MAX 107

int hk_request_url(const char *path, char url[HK_REQUEST_URL_BYTES])
{
	char text[HK_REQUEST_URL_BYTES];
	int length = snprintf(text, sizeof(text), "ipc://%s/%s", path, HK_RUNDIR_SOCKET);
	if (length < 0 || length > SOCKET_PATH_MAX + 6) {
		return -ENAMETOOLONG;
	}
	memcpy(url, text, (size_t)length + 1);
	return 0;
}

static int exchange(nng_socket socket, const Hk__Request *request, Hk__Response **ret_response)
{
	uint8_t *bytes;
	size_t size;
	int r = hk_message_pack(&request->base, &bytes, &size);
	if (r < 0) {
		return r;
	}
	r = hk_nng_errno(nng_send(socket, bytes, size, 0));
	free(bytes);
	if (r < 0) {
		return r;
	}
	nng_msg *answer;
	r = hk_nng_errno(nng_recvmsg(socket, &answer, 0));
	if (r < 0) {
		return r;
	}
	ProtobufCMessage *message;
	r = hk_message_unpack(&hk__response__descriptor, nng_msg_body(answer), nng_msg_len(answer),
			      &message);
	nng_msg_free(answer);
	if (r < 0) {
		return -EBADMSG;
	}
	*ret_response = (Hk__Response *)message;
	return 0;
}

/* Sends REQUEST with the token of ACCESS, which only TCP needs. */
static int call_socket(nng_socket socket, const char *url, const struct hk_access *access,
		       const Hk__Request *request, int timeout_ms, Hk__Response **ret_response,
		       char problem[HK_ACCESS_PROBLEM_BYTES])
{
	char token[HK_ACCESS_TOKEN_MAX + 1];
	Hk__Request shown = *request;
	if (access && access->token_file && hk_access_url(url).transport > HK_TRANSPORT_LOCAL) {
		int r = hk_access_token(access->token_file, token, problem);
		if (r < 0) {
			return r;
		}
		shown.token.data = (uint8_t *)token;
		shown.token.len = strlen(token);
	}
	int r = hk_dial(socket, url, access, timeout_ms, problem);
	if (r == -EKEYREJECTED && !*problem) {
		hk_certificate_problem(url, access, problem);
	}
	r = r < 0 ? r : exchange(socket, &shown, ret_response);
	/* Only a collector has this socket: one that hangs up during the greeting was just
	 * killed. */
	bool died =
	    (r == -EPIPE || r == -EPROTO) && hk_access_url(url).transport == HK_TRANSPORT_LOCAL;
	return died ? -ECONNREFUSED : r;
}

int hk_request_call_as(const char *url, const struct hk_access *access, const Hk__Request *request,
		       int timeout_ms, Hk__Response **ret_response,
		       char problem[HK_ACCESS_PROBLEM_BYTES])
{
	nng_socket socket;
	*problem = '\0';
	int r = hk_room_threads();
	r = r < 0 ? r : hk_nng_errno(nng_req0_open(&socket));
	if (r < 0) {
		return r;
	}
	/* Never resend: a repeated request would open or close a job twice. */
	nng_socket_set_ms(socket, NNG_OPT_REQ_RESENDTIME, NNG_DURATION_INFINITE);
	nng_socket_set_ms(socket, NNG_OPT_SENDTIMEO, timeout_ms);
	nng_socket_set_ms(socket, NNG_OPT_RECVTIMEO, timeout_ms);
	nng_socket_set_size(socket, NNG_OPT_RECVMAXSZ, HK_MESSAGE_BYTES_MAX);
	r = call_socket(socket, url, access, request, timeout_ms, ret_response, problem);
	nng_close(socket);
	return r;
}

int hk_request_call(const char *url, const Hk__Request *request, int timeout_ms,
		    Hk__Response **ret_response)
{
	char problem[HK_ACCESS_PROBLEM_BYTES];
	return hk_request_call_as(url, NULL, request, timeout_ms, ret_response, problem);
}
