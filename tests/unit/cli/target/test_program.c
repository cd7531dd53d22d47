/* Programs that the agent cannot be loaded into, each made by changing one thing in a copy of a
 * good one: this test itself. */
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
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cli/target/program.h"

static char directory[64];

static int setup(void **state)
{
	(void)state;
	snprintf(directory, sizeof(directory), "/tmp/hk-program-XXXXXX");
	return mkdtemp(directory) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	return rmdir(directory);
}

static char *write_file(const char *name, const void *bytes, size_t size, mode_t mode)
{
	static char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	fclose(file);
	chmod(path, mode);
	return path;
}

/* The start of this program: what the check reads of it. */
struct image {
	char bytes[65536];
	size_t size;
};

static struct image read_self(void)
{
	struct image image;
	FILE *file = fopen("/proc/self/exe", "r");
	assert_non_null(file);
	image.size = fread(image.bytes, 1, sizeof(image.bytes), file);
	fclose(file);
	return image;
}

static Elf64_Phdr *interpreter_of(struct image *image)
{
	Elf64_Ehdr *header = (void *)image->bytes;
	Elf64_Phdr *phdr = (void *)(image->bytes + header->e_phoff);
	for (unsigned i = 0; i < header->e_phnum; i++) {
		if (phdr[i].p_type == PT_INTERP) {
			return &phdr[i];
		}
	}
	fail_msg("this test has no PT_INTERP");
	return NULL;
}

/* Checks the file, removes it, and expects a word of the detail; "" for a program without fault. */
static void check_says(const char *path, int wanted, const char *word)
{
	struct hk_check_result result;
	char file[PATH_MAX];
	int r = hk_program_check(path, file, &result);
	unlink(path);
	assert_int_equal(r, wanted);
	assert_int_equal(result.state, *word ? HK_CHECK_FAILED : HK_CHECK_OK);
	assert_true(!*word == !*result.fix);
	if (!strstr(result.detail, word)) {
		fail_msg("'%s' does not say '%s'", result.detail, word);
	}
}

static void test_program_of_this_machine_is_fine(void **state)
{
	(void)state;
	struct image image = read_self();
	check_says(write_file("good", image.bytes, image.size, 0700), 0, "");
}

static void test_static_program_is_named(void **state)
{
	(void)state;
	struct image image = read_self();
	interpreter_of(&image)->p_type = PT_NULL;
	check_says(write_file("static", image.bytes, image.size, 0700), 0, "static");
	check_says(write_file("ld-linux-x86-64.so.2", image.bytes, image.size, 0700), 0, "");
}

static void test_other_libc_is_named(void **state)
{
	(void)state;
	struct image image = read_self();
	Elf64_Phdr *phdr = interpreter_of(&image);
	static const char musl[] = "/lib/ld-musl-x86_64.so.1";
	assert_true(sizeof(musl) <= phdr->p_filesz);
	memcpy(image.bytes + phdr->p_offset, musl, sizeof(musl));
	phdr->p_filesz = sizeof(musl);
	check_says(write_file("musl", image.bytes, image.size, 0700), 0, "musl");
}

static void test_loader_that_is_not_there_is_named(void **state)
{
	(void)state;
	struct image image = read_self();
	image.bytes[interpreter_of(&image)->p_offset + 1] = '?';
	check_says(write_file("stray", image.bytes, image.size, 0700), -ENOENT, "loader");
}

static void test_other_machines_are_named(void **state)
{
	(void)state;
	struct image image = read_self();
	Elf64_Ehdr *header = (void *)image.bytes;
	header->e_machine = EM_S390;
	check_says(write_file("other", image.bytes, image.size, 0700), 0, "processor");
	header->e_ident[EI_CLASS] = ELFCLASS32;
	check_says(write_file("small", image.bytes, image.size, 0700), 0, "32-bit");
}

static void test_damaged_headers_are_named(void **state)
{
	(void)state;
	struct image image = read_self();
	Elf64_Phdr *phdr = interpreter_of(&image);
	phdr->p_filesz = UINT64_MAX;
	check_says(write_file("damaged", image.bytes, image.size, 0700), -ENOEXEC, "damaged");
	phdr->p_filesz = 4; /* without its NUL */
	check_says(write_file("damaged", image.bytes, image.size, 0700), -ENOEXEC, "damaged");
	check_says(write_file("cut", image.bytes, sizeof(Elf64_Ehdr), 0700), -ENOEXEC, "damaged");
}

static void test_raised_rights_are_named(void **state)
{
	struct statvfs mount;
	struct image image = read_self();
	char *path = write_file("setuid", image.bytes, image.size, 0700);

	(void)state;
	if (chown(path, 1, 1) < 0 || statvfs(path, &mount) < 0 || mount.f_flag & ST_NOSUID) {
		unlink(path);
		skip();
	}
	chmod(path, 04755);
	check_says(path, 0, "setuid");
}

static void test_scripts_stand_for_their_interpreters(void **state)
{
	(void)state;
	struct image image = read_self();
	char script[PATH_MAX + 16];
	interpreter_of(&image)->p_type = PT_NULL;
	char *path = strdup(write_file("static", image.bytes, image.size, 0700));
	snprintf(script, sizeof(script), "#! %s -x\necho\n", path);
	check_says(write_file("script", script, strlen(script), 0700), 0, "static");
	unlink(path);
	check_says(write_file("script", script, strlen(script), 0700), -ENOENT, "interpreter");
	free(path);
	static const char good[] = "#!/bin/sh\n", bare[] = "echo no interpreter\n", cut[] = "#!";
	check_says(write_file("script", good, strlen(good), 0700), 0, "");
	static const char data[] = "no\0text";
	/* Shells run what the kernel refuses, unless it is no text. */
	check_says(write_file("script", bare, strlen(bare), 0700), 0, "");
	check_says(write_file("script", cut, strlen(cut), 0700), 0, "");
	check_says(write_file("script", data, sizeof(data), 0700), -ENOEXEC, "neither");
	snprintf(script, sizeof(script), "#!%s/circle\n", directory);
	check_says(write_file("circle", script, strlen(script), 0700), -ENOEXEC, "script of a");
}

static void test_what_is_no_program_is_named(void **state)
{
	(void)state;
	char path[PATH_MAX];
	check_says("/nowhere/at/all", -ENOENT, "no such command");
	check_says("no-such-command-in-any-path", -ENOENT, "no such command");
	check_says("", -ENOENT, "no such command");
	check_says("/tmp", -EACCES, "not an executable");
	check_says(write_file("plain", "x", 1, 0600), -EACCES, "not an executable");
	assert_int_equal(hk_program_find("sh", path), 0);
	assert_int_equal(path[0], '/');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_program_of_this_machine_is_fine),
	    cmocka_unit_test(test_static_program_is_named),
	    cmocka_unit_test(test_other_libc_is_named),
	    cmocka_unit_test(test_loader_that_is_not_there_is_named),
	    cmocka_unit_test(test_other_machines_are_named),
	    cmocka_unit_test(test_damaged_headers_are_named),
	    cmocka_unit_test(test_raised_rights_are_named),
	    cmocka_unit_test(test_scripts_stand_for_their_interpreters),
	    cmocka_unit_test(test_what_is_no_program_is_named),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
