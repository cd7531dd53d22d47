#include "apis.h"

/* One function for each place of the table: it passes what it was given, and its place. A method of
 * two arguments is given two words more than it has, which the ABI allows. */

struct hk_api hk_apis[HK_APIS];

/* clang-format off */

#define ONE(n)                                                                                 \
	static PyObject *stub_##n(PyObject *self, void *second, uintptr_t third, void *fourth) \
	{                                                                                      \
		return hk_api_called(self, second, third, fourth, &hk_apis[0x##n]);            \
	}
#define NAME(n) stub_##n,

#define SIXTEEN(X, n)                                                                          \
	X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7)                        \
	X(n##8) X(n##9) X(n##a) X(n##b) X(n##c) X(n##d) X(n##e) X(n##f)
#define ROW(X, n)                                                                              \
	SIXTEEN(X, n##0) SIXTEEN(X, n##1) SIXTEEN(X, n##2) SIXTEEN(X, n##3)                    \
	SIXTEEN(X, n##4) SIXTEEN(X, n##5) SIXTEEN(X, n##6) SIXTEEN(X, n##7)                    \
	SIXTEEN(X, n##8) SIXTEEN(X, n##9) SIXTEEN(X, n##a) SIXTEEN(X, n##b)                    \
	SIXTEEN(X, n##c) SIXTEEN(X, n##d) SIXTEEN(X, n##e) SIXTEEN(X, n##f)
#define TABLE(X, n)                                                                            \
	ROW(X, n##0) ROW(X, n##1) ROW(X, n##2) ROW(X, n##3) ROW(X, n##4) ROW(X, n##5)          \
	ROW(X, n##6) ROW(X, n##7) ROW(X, n##8) ROW(X, n##9) ROW(X, n##a) ROW(X, n##b)          \
	ROW(X, n##c) ROW(X, n##d) ROW(X, n##e) ROW(X, n##f)

TABLE(ONE, 0)
TABLE(ONE, 1)

/* clang-format on */

const hk_api_function hk_api_stubs[HK_APIS] = {TABLE(NAME, 0) TABLE(NAME, 1)};
