#include "collector/engine/search.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "collector/engine/subject.h"

#define REQUEST_MS 2000
#define NO_MESSAGE 10037 /* code of JetStream; 404 alone may be about the stream */

/* Sets *RET_SEQUENCE to the message number in ANSWER, or to 0 if ANSWER says that no message was
 * found. Returns 0 or -EBADMSG. */
static int read_sequence(const char *answer, size_t size, uint64_t *ret_sequence)
{
	json_error_t error;
	json_t *root = json_loadb(answer, size, 0, &error);
	const json_t *sequence = json_object_get(json_object_get(root, "message"), "seq");
	const json_t *code = json_object_get(json_object_get(root, "error"), "err_code");
	bool found = json_is_integer(sequence), none = json_integer_value(code) == NO_MESSAGE;
	*ret_sequence = found ? (uint64_t)json_integer_value(sequence) : 0;
	json_decref(root);
	return found || none ? 0 : -EBADMSG;
}

/* libnats 3.4 has no function for this request. */
static int find_next(struct hk_engine *engine, const char *subject, uint64_t from,
		     uint64_t *ret_sequence, char problem[HK_ENGINE_PROBLEM_BYTES])
{
	const struct hk_nats *nats = hk_engine_nats(engine);
	char request[HK_SUBJECT_BYTES + 64];
	natsMsg *answer = NULL;
	snprintf(request, sizeof(request), "{\"seq\":%" PRIu64 ",\"next_by_subj\":\"%s\"}", from,
		 subject);
	natsStatus status = nats->natsConnection_RequestString(
	    &answer, hk_engine_connection(engine), "$JS.API.STREAM.MSG.GET." HK_SUBJECT_STREAM,
	    request, REQUEST_MS);
	if (status != NATS_OK) {
		return hk_engine_failed(engine, status, 0, problem);
	}
	int r = read_sequence(nats->natsMsg_GetData(answer),
			      (size_t)nats->natsMsg_GetDataLength(answer), ret_sequence);
	nats->natsMsg_Destroy(answer);
	if (r < 0) {
		snprintf(problem, HK_ENGINE_PROBLEM_BYTES, "the engine does not find a message");
	}
	return r;
}

int hk_search_next(struct hk_engine *engine, const char *subject, uint64_t behind, uint64_t before,
		   uint64_t *ret_sequence, natsMsg **ret_message,
		   char problem[HK_ENGINE_PROBLEM_BYTES])
{
	uint64_t sequence = 0;
	jsErrCode code = 0;
	if (!hk_engine_connected(engine)) {
		hk_engine_problem(engine, problem);
		return -EAGAIN;
	}
	int r = find_next(engine, subject, behind + 1, &sequence, problem);
	if (r < 0 || sequence == 0 || sequence >= before) {
		return r;
	}
	natsStatus status = hk_engine_nats(engine)->js_GetMsg(
	    ret_message, hk_engine_stream(engine), HK_SUBJECT_STREAM, sequence, NULL, &code);
	if (status != NATS_OK) {
		return hk_engine_failed(engine, status, code, problem);
	}
	const char *found = hk_engine_nats(engine)->natsMsg_GetSubject(*ret_message);
	if (sequence <= behind || strcmp(found, subject) != 0) {
		hk_engine_nats(engine)->natsMsg_Destroy(*ret_message);
		snprintf(problem, HK_ENGINE_PROBLEM_BYTES,
			 "the engine cannot search by subject: it needs nats-server 2.9");
		return -ENOTSUP;
	}
	*ret_sequence = sequence;
	return 1;
}
