/* Whose calls count, of the objects of this very process and by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/patch/caller.h"

static struct hk_object nobody;

static void expect_counts(const char *path, const char *from, bool counts)
{
	if (hk_caller_counts(&nobody, path, from) != counts) {
		fail_msg("%s with HOOK_FROM=%s", path, from ? from : "");
	}
}

static void test_libraries_of_the_program_count(void **state)
{
	(void)state;
	expect_counts("/usr/bin/solver", NULL, true);
	expect_counts("/usr/lib/libsolver.so.3", NULL, true);
	expect_counts("/usr/lib/libcurl.so.4", NULL, true); /* not libc */
	expect_counts("/usr/lib/libmpi.so.40", NULL, true); /* nor libm */
}

static void test_libc_counts_only_when_it_is_asked_for(void **state)
{
	static const char *const quiet[] = {
	    "/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc-2.17.so",
	    "/lib64/libpthread-2.17.so",       "/lib/libm.so.6",
	    "/usr/lib/libgcc_s.so.1",	       "/usr/lib/libasan.so.8"};
	(void)state;
	for (size_t i = 0; i < sizeof(quiet) / sizeof(quiet[0]); i++) {
		expect_counts(quiet[i], NULL, false);
		expect_counts(quiet[i], "*", false);
		expect_counts(quiet[i], "libsolver.so", false);
		expect_counts(quiet[i], quiet[i], true);
	}
	expect_counts(quiet[0], "libc.so", true);
}

static void test_loader_and_kernel_never_count(void **state)
{
	static const char *const never[] = {"/lib64/ld-linux-x86-64.so.2", "/lib64/ld-2.17.so",
					    "/lib/ld-linux-aarch64.so.1", "linux-vdso.so.1"};
	(void)state;
	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++) {
		expect_counts(never[i], NULL, false);
		expect_counts(never[i], never[i], false);
	}
}

static void test_object_of_the_agent_never_counts(void **state)
{
	const ElfW(Phdr) all = {.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_memsz = UINT64_MAX};
	const struct hk_object self = {.name = "self", .phdr = &all, .phdr_count = 1};

	(void)state;
	assert_false(hk_caller_counts(&self, "/usr/lib/libhookagent.so", NULL));
	assert_false(hk_caller_counts(&self, "/usr/lib/libhookagent.so", "libhookagent.so"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_libraries_of_the_program_count),
	    cmocka_unit_test(test_libc_counts_only_when_it_is_asked_for),
	    cmocka_unit_test(test_loader_and_kernel_never_count),
	    cmocka_unit_test(test_object_of_the_agent_never_counts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
