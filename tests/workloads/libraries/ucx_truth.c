/* Messages and remote memory of UCX from a worker to itself: ucx_truth DIRECTORY. */
#include <ucp/api/ucp.h>

#include "known.h"

enum { LENGTH = 1000, ROUNDS = 10 };

static ucp_context_h context;
static ucp_worker_h worker;
static ucp_ep_h ep;
static char source[LENGTH], target[LENGTH];

static void finish(void *request)
{
	EXPECT(!UCS_PTR_IS_ERR(request));
	while (request && ucp_request_check_status(request) == UCS_INPROGRESS) {
		KNOWN(0, ucp_worker_progress, worker);
	}
	if (request) {
		ucp_request_free(request);
	}
}

static void connect_to_itself(void)
{
	ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES,
			       .features = UCP_FEATURE_TAG | UCP_FEATURE_RMA};
	ucp_worker_params_t worker_params = {.field_mask = 0};
	ucp_ep_params_t ep_params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS};
	ucp_address_t *address;
	size_t length;

	known_add("ucp_init_version", 0, 0);
	EXPECT(ucp_init(&params, NULL, &context) == UCS_OK);
	EXPECT(KNOWN(0, ucp_worker_create, context, &worker_params, &worker) == UCS_OK);
	EXPECT(ucp_worker_get_address(worker, &address, &length) == UCS_OK);
	ep_params.address = address;
	EXPECT(KNOWN(0, ucp_ep_create, worker, &ep_params, &ep) == UCS_OK);
	ucp_worker_release_address(worker, address);
}

static void send_messages(void)
{
	ucp_request_param_t param = {.op_attr_mask = 0};

	for (int i = 0; i < ROUNDS; i++) {
		source[0] = (char)i;
		void *received =
		    KNOWN(0, ucp_tag_recv_nbx, worker, target, LENGTH, 7, ~0UL, &param);
		void *sent = KNOWN(0, ucp_tag_send_nbx, ep, source, LENGTH, 7, &param);
		finish(sent);
		finish(received);
		EXPECT(target[0] == i);
	}
}

static void put_and_get(void)
{
	ucp_mem_map_params_t map = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
						  UCP_MEM_MAP_PARAM_FIELD_LENGTH,
				    .address = target,
				    .length = LENGTH};
	ucp_request_param_t param = {.op_attr_mask = 0};
	ucp_mem_h memory;
	ucp_rkey_h key;
	void *packed;
	size_t length;

	EXPECT(KNOWN(0, ucp_mem_map, context, &map, &memory) == UCS_OK);
	EXPECT(ucp_rkey_pack(context, memory, &packed, &length) == UCS_OK);
	EXPECT(KNOWN(0, ucp_ep_rkey_unpack, ep, packed, &key) == UCS_OK);
	ucp_rkey_buffer_release(packed);
	source[0] = 42;
	EXPECT(KNOWN(LENGTH, ucp_put_nbi, ep, source, LENGTH, (uint64_t)target, key) >= 0);
	finish(KNOWN(0, ucp_worker_flush_nbx, worker, &param));
	EXPECT(target[0] == 42);
	finish(KNOWN(0, ucp_get_nbx, ep, source, LENGTH, (uint64_t)target, key, &param));
	finish(KNOWN(0, ucp_ep_flush_nbx, ep, &param));
	ucp_rkey_destroy(key);
	EXPECT(KNOWN(0, ucp_mem_unmap, context, memory) == UCS_OK);
}

int main(int argc, char **argv)
{
	ucp_request_param_t param = {.op_attr_mask = 0};

	EXPECT(argc == 2);
	connect_to_itself();
	send_messages();
	put_and_get();
	finish(KNOWN(0, ucp_ep_close_nbx, ep, &param));
	KNOWN(0, ucp_worker_destroy, worker);
	KNOWN(0, ucp_cleanup, context);
	known_write(argv[0], argv[1], 0);
	return 0;
}
