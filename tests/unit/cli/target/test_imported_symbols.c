/* Imports of this test itself, and of files that make no sense. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/target/imported_symbols.h"

static char self[PATH_MAX];

static int setup(void **state)
{
	(void)state;
	return readlink("/proc/self/exe", self, sizeof(self) - 1) > 0 ? 0 : -1;
}

static void test_program_and_libraries_are_read(void **state)
{
	struct hk_imported_symbols *imports;

	(void)state;
	assert_int_equal(hk_imported_symbols_new(self, &imports), 0);
	assert_true(
	    hk_imported_symbols_has(imports, "_cmocka_run_group_tests")); /* the program's */
	assert_true(hk_imported_symbols_has(imports, "strsignal"));	  /* a library's */
	assert_false(hk_imported_symbols_has(imports, "main"));
	assert_false(hk_imported_symbols_has(imports, ""));
	assert_true(hk_imported_symbols_defines(imports, "main"));
	assert_false(hk_imported_symbols_defines(imports, "strsignal"));
	hk_imported_symbols_free(imports);
}

static void test_nearest_come_first(void **state)
{
	struct hk_imported_symbols *imports;
	const char *names[2];

	(void)state;
	assert_int_equal(hk_imported_symbols_new(self, &imports), 0);
	assert_true(hk_imported_symbols_nearest(imports, "_cmocka_run_grup_test", names, 2) >= 1);
	assert_string_equal(names[0], "_cmocka_run_group_tests");
	/* With more around it. */
	assert_true(hk_imported_symbols_nearest(imports, "run_group", names, 2) >= 1);
	assert_non_null(strstr(names[0], "run_group"));
	assert_int_equal(
	    hk_imported_symbols_nearest(imports, "nothing_is_called_like_this", names, 2), 0);
	assert_int_equal(hk_imported_symbols_nearest(imports, "", names, 0), 0);
	hk_imported_symbols_free(imports);
}

/* The whole of this program, to be damaged. */
static char *read_self(size_t *ret_size)
{
	FILE *file = fopen(self, "r");
	assert_non_null(file);
	fseek(file, 0, SEEK_END);
	*ret_size = (size_t)ftell(file);
	rewind(file);
	char *bytes = malloc(*ret_size);
	assert_non_null(bytes);
	assert_int_equal(fread(bytes, 1, *ret_size, file), *ret_size);
	fclose(file);
	return bytes;
}

static void refuse(const char *bytes, size_t size, int wanted)
{
	char path[] = "/tmp/hk-imports-XXXXXX";
	struct hk_imported_symbols *imports;
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), (ssize_t)size);
	close(fd);
	int r = hk_imported_symbols_new(path, &imports);
	unlink(path);
	assert_int_equal(r, wanted);
}

static void test_damaged_files_are_refused(void **state)
{
	size_t size;
	char *bytes = read_self(&size);
	Elf64_Ehdr *header = (void *)bytes, good = *header;
	struct hk_imported_symbols *imports;

	(void)state;
	assert_int_equal(hk_imported_symbols_new("/nowhere/at/all", &imports), -ENOENT);
	refuse("x", 1, -ENOEXEC);
	refuse(bytes, 0, -ENOEXEC);
	refuse(bytes, size / 2, -ENOEXEC); /* the sections lie at the end */
	header->e_shoff = UINT64_MAX - 7;
	refuse(bytes, size, -ENOEXEC);
	*header = good;
	header->e_shentsize = 1;
	refuse(bytes, size, -ENOEXEC);
	*header = good;
	Elf64_Shdr *section = (void *)(bytes + header->e_shoff);
	while (section->sh_type != SHT_DYNSYM) {
		section++;
	}
	Elf64_Shdr table = *section;
	section->sh_link = header->e_shnum;
	refuse(bytes, size, -ENOEXEC);
	*section = table;
	section->sh_size = UINT64_MAX;
	refuse(bytes, size, -ENOEXEC);
	*section = table;
	((Elf64_Shdr *)(bytes + header->e_shoff))[table.sh_link].sh_size -= 1; /* its NUL */
	refuse(bytes, size, -ENOEXEC);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_program_and_libraries_are_read),
	    cmocka_unit_test(test_nearest_come_first),
	    cmocka_unit_test(test_damaged_files_are_refused),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
