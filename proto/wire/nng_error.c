#include "wire/nng_error.h"

#include <errno.h>
#include <nng/nng.h>

/* Errors without an NNG code of their own. */
static int system_errno(int error)
{
	switch (error) {
	case ENETUNREACH:
	case ENETDOWN:
	case EHOSTDOWN:
	case ENONET:
		return -EHOSTUNREACH;
	default:
		return -error;
	}
}

int hk_nng_errno(int nng_error)
{
	switch (nng_error) {
	case 0:
		return 0;
	case NNG_ENOMEM:
		return -ENOMEM;
	case NNG_EINVAL:
	case NNG_EADDRINVAL:
	case NNG_ENOTSUP:
		return -EINVAL;
	case NNG_ETIMEDOUT:
		return -ETIMEDOUT;
	case NNG_EUNREACHABLE:
		return -EHOSTUNREACH;
	case NNG_ECONNREFUSED:
	case NNG_ENOENT:
	case NNG_ECLOSED:
	case NNG_ECONNRESET:
	case NNG_ECONNABORTED:
		return -ECONNREFUSED;
	case NNG_EAGAIN:
		return -EAGAIN;
	case NNG_EADDRINUSE:
		return -EADDRINUSE;
	case NNG_EPERM:
		return -EACCES;
	case NNG_EMSGSIZE:
		return -EMSGSIZE;
	case NNG_EPROTO:
	case NNG_ECONNSHUT:
		return -EPROTO;
	case NNG_ECRYPTO:
	case NNG_EPEERAUTH:
		return -EKEYREJECTED;
	default:
		return nng_error & NNG_ESYSERR ? system_errno(nng_error & ~NNG_ESYSERR) : -EIO;
	}
}
