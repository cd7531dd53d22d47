/* A library that insists on static TLS, which there is little of: a number of copies can be loaded
 * and no more. */
#include "life.h"

static __thread __attribute__((tls_model("initial-exec"))) volatile char life_tls_room[192];

int static_tls_use(void)
{
	return ++life_tls_room[0];
}
