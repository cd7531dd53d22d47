#include "collector/symbol/symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "collector/helper/helper.h"
#include "collector/symbol/symbol_reader.h"

#define SELF "/proc/self/exe"

struct hk_symbols {
	struct hk_helper helper;
	uint64_t number;
	uint64_t heard_ns; /* monotonic: last reply, or when the request was sent */
	bool busy;
	uint8_t bytes[HK_SYMBOL_READER_MESSAGE_BYTES];
};

struct hk_symbols *hk_symbols_new(void)
{
	struct hk_symbols *symbols = calloc(1, sizeof(*symbols));

	if (symbols) {
		symbols->helper = HK_HELPER_INIT;
	}
	return symbols;
}

/* ---- the process ---- */

static void end_process(struct hk_symbols *symbols)
{
	hk_helper_end(&symbols->helper);
	symbols->busy = false;
}

static int start_process(struct hk_symbols *symbols)
{
	static char name[] = "hookcollector", word[] = HK_SYMBOL_READER_WORD;
	char *arguments[] = {name, word, NULL};

	return hk_helper_start(&symbols->helper, SELF, arguments);
}

struct hk_symbols *hk_symbols_free(struct hk_symbols *symbols)
{
	if (symbols) {
		end_process(symbols);
		free(symbols);
	}
	return NULL;
}

/* ---- requests ---- */

int hk_symbols_fd(const struct hk_symbols *symbols)
{
	return symbols->helper.fd;
}

bool hk_symbols_is_busy(const struct hk_symbols *symbols)
{
	return symbols->busy;
}

int hk_symbols_ask(struct hk_symbols *symbols, Hk__SymbolRequest *request, uint64_t now_ns)
{
	request->number = ++symbols->number;
	size_t size = hk__symbol_request__get_packed_size(request);
	int r = size > sizeof(symbols->bytes) ? -EMSGSIZE : 0;

	if (r == 0 && symbols->helper.fd < 0) {
		r = start_process(symbols);
	}
	if (r < 0) {
		return r;
	}
	hk__symbol_request__pack(request, symbols->bytes);
	if (send(symbols->helper.fd, symbols->bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
		int error = errno;
		if (error != EAGAIN && error != EINTR) {
			end_process(symbols); /* it had ended because no request came */
		}
		return -error;
	}
	symbols->busy = true;
	symbols->heard_ns = now_ns;
	return 0;
}

/* The process ended, or sent something that is not a reply. */
static int lose(struct hk_symbols *symbols, int error)
{
	bool busy = symbols->busy;

	end_process(symbols);
	return busy ? error : 0;
}

int hk_symbols_take(struct hk_symbols *symbols, uint64_t now_ns, Hk__SymbolReply **ret_reply)
{
	ssize_t size = symbols->helper.fd < 0
			   ? -1
			   : recv(symbols->helper.fd, symbols->bytes, sizeof(symbols->bytes),
				  MSG_DONTWAIT | MSG_TRUNC);

	if (symbols->helper.fd < 0) {
		return 0;
	}
	if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
		bool late = symbols->busy && now_ns - symbols->heard_ns >= HK_SYMBOLS_LIMIT_NS;
		return late ? lose(symbols, -ETIMEDOUT) : 0;
	}
	if (size <= 0 || (size_t)size > sizeof(symbols->bytes)) {
		return lose(symbols, -ECHILD);
	}
	Hk__SymbolReply *reply = hk__symbol_reply__unpack(NULL, (size_t)size, symbols->bytes);
	if (!reply || !symbols->busy || reply->number != symbols->number) {
		if (reply) {
			hk__symbol_reply__free_unpacked(reply, NULL);
		}
		return lose(symbols, -ECHILD);
	}
	symbols->heard_ns = now_ns;
	symbols->busy = !reply->last;
	*ret_reply = reply;
	return 1;
}
