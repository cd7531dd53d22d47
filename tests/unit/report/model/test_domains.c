/* The domains of the shipped hooks files as views show them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/model/domains.h"

static void test_shares_are_in_the_order_of_the_hooks_files(void **state)
{
	static const char *const titles[] = {
	    "MPI",   "NCCL",	 "CUDA",     "I/O",	  "BLAS",    "HIP",    "RCCL",
	    "ACL",   "aclnn",	 "HCCL",     "XPU",	  "BKCL",    "cuBLAS", "cuDNN",
	    "cuFFT", "cuSOLVER", "cuSPARSE", "Python",	  "PyTorch", "Paddle", "MindSpore",
	    "FFTW",  "HDF5",	 "netCDF",   "ScaLAPACK", "oneDNN"};
	struct hk_domain shares[HK_DOMAINS_MAX];

	(void)state;
	assert_int_equal(hk_domain_shares(shares), sizeof(titles) / sizeof(titles[0]));
	for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++) {
		assert_string_equal(shares[i].title, titles[i]);
	}
}

static void test_domains_that_wait_are_idle(void **state)
{
	(void)state;
	assert_true(hk_domain_is_idle("wait"));
	assert_true(hk_domain_is_idle("thread"));
	assert_false(hk_domain_is_idle("mpi"));
	assert_false(hk_domain_is_idle("of-a-user"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_shares_are_in_the_order_of_the_hooks_files),
	    cmocka_unit_test(test_domains_that_wait_are_idle),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
