/* Preloaded into a collector: a socket of NNG's that never closes, as some of its versions have
 * them when a connection breaks at that moment. */
#include <unistd.h>

int nng_close(unsigned socket);

__attribute__((visibility("default"))) int nng_close(unsigned socket)
{
	(void)socket;
	for (;;) {
		pause();
	}
}
