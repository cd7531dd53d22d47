#include "collector/uplink/dialer.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "wire/certificate.h"
#include "wire/dial.h"

#define CHECK_NS UINT64_C(60000000000)

/* Finds out why the root's certificate is not trusted, at most once in CHECK_NS. */
static void check_certificate(struct hk_dialer *dialer)
{
	uint64_t now = hk_clock_monotonic_ns();
	if (dialer->error != -EKEYREJECTED || *dialer->problem) {
		dialer->checked_ns = 0;
		return;
	}
	if (dialer->checked_ns == 0 || now - dialer->checked_ns >= CHECK_NS) {
		hk_certificate_problem(dialer->url, dialer->access, dialer->certificate);
		dialer->checked_ns = now;
	}
	memcpy(dialer->problem, dialer->certificate, sizeof(dialer->problem));
}

static void *dial(void *data)
{
	struct hk_dialer *dialer = data;
	uint64_t one = 1;
	dialer->error = hk_dial(dialer->socket, dialer->url, dialer->access, NNG_DURATION_INFINITE,
				dialer->problem);
	check_certificate(dialer);
	/* Pairs with the acquire before `error` is read. */
	atomic_store_explicit(&dialer->done, true, memory_order_release);
	if (dialer->error < 0) {
		(void)!write(dialer->event_fd, &one, sizeof(one));
	}
	return NULL;
}

int hk_dialer_begin(struct hk_dialer *dialer, nng_socket socket, const char *url,
		    const struct hk_access *access, int event_fd)
{
	dialer->socket = socket;
	dialer->url = url;
	dialer->access = access;
	dialer->event_fd = event_fd;
	dialer->error = 0;
	*dialer->problem = '\0';
	atomic_store(&dialer->done, false);
	int r = pthread_create(&dialer->thread, NULL, dial, dialer);
	dialer->begun = r == 0;
	return -r;
}

int hk_dialer_error(const struct hk_dialer *dialer)
{
	return atomic_load_explicit(&dialer->done, memory_order_acquire) ? dialer->error : 0;
}

void hk_dialer_end(struct hk_dialer *dialer)
{
	if (dialer->begun) {
		pthread_join(dialer->thread, NULL);
		dialer->begun = false;
	}
}
