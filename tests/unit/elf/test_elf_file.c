/* ELF files on disk: the test's own, and files that are none. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "elf/elf_file.h"

#define SELF "/proc/self/exe"

static void test_other_files_do_not_open(void **state)
{
	static const char *const files[] = {"/proc/self/maps", "/dev/null", "/dev/zero", "/tmp"};
	char pipe[] = "/tmp/hk-elf-XXXXXX";
	struct hk_elf file;

	(void)state;
	assert_int_equal(hk_elf_open("/absent", &file), -ENOENT);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		assert_int_equal(hk_elf_open(files[i], &file), -ENOEXEC);
	}
	/* An open of a pipe would wait for its writer. */
	close(mkstemp(pipe));
	unlink(pipe);
	assert_int_equal(mkfifo(pipe, 0600), 0);
	assert_int_equal(hk_elf_open(pipe, &file), -ENOEXEC);
	unlink(pipe);
}

static int count_main(void *context, const GElf_Sym *symbol, const char *name)
{
	unsigned *count = context;

	(void)symbol;
	*count += name && strcmp(name, "main") == 0;
	return 0;
}

static int stop(void *context, const GElf_Sym *symbol, const char *name)
{
	(void)symbol;
	(void)name;
	return ++*(int *)context == 3 ? -ECANCELED : 0;
}

static void test_symbols_are_passed(void **state)
{
	struct hk_elf file;
	unsigned mains = 0;
	int seen = 0;

	(void)state;
	assert_int_equal(hk_elf_open(SELF, &file), 0);
	assert_int_equal(hk_elf_symbols(&file, SHT_SYMTAB, count_main, &mains), 0);
	assert_int_equal(mains, 1);
	assert_int_equal(hk_elf_symbols(&file, SHT_SYMTAB, stop, &seen), -ECANCELED);
	assert_int_equal(seen, 3);
	assert_int_equal(hk_elf_symbols(&file, SHT_LOUSER, stop, &seen), -ENOENT);
	hk_elf_close(&file);
}

/* The kernel has mapped the loader that the program names. */
static void test_the_loader_is_named(void **state)
{
	char path[PATH_MAX];
	struct hk_elf file, loader;
	struct stat status;
	uint8_t build_id[HK_ELF_BUILD_ID_MOST];

	(void)state;
	assert_int_equal(hk_elf_open(SELF, &file), 0);
	assert_int_equal(hk_elf_loader(&file, path), 0);
	assert_int_equal(stat(path, &status), 0);
	assert_false(hk_elf_has_note(&file, 4, "Go"));
	assert_true(hk_elf_has_note(&file, NT_GNU_ABI_TAG, "GNU"));
	assert_int_equal(hk_elf_open(path, &loader), 0);
	assert_int_equal(hk_elf_loader(&loader, path), 0);
	assert_string_equal(path, "");
	assert_true(hk_elf_build_id(&loader, build_id) >= 16);
	hk_elf_close(&loader);
	hk_elf_close(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_other_files_do_not_open),
	    cmocka_unit_test(test_symbols_are_passed),
	    cmocka_unit_test(test_the_loader_is_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
