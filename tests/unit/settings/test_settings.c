/* Flag, then variable, then the user's file, then the system's, then the default. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "settings/settings.h"

static char directory[] = "/tmp/hk-settings-XXXXXX";
static char user[64], system_wide[64];

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static size_t index_of(const char *name)
{
	size_t i = 0;
	while (strcmp(hk_settings_table[i].name, name) != 0) {
		i++;
	}
	return i;
}

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(directory)) {
		return -1;
	}
	for (size_t i = 0; i < hk_settings_count; i++) {
		char variable[64];
		snprintf(variable, sizeof(variable), "HOOK_%s", hk_settings_table[i].name);
		for (char *at = variable; *at; at++) {
			*at = (char)(*at == '-' ? '_' : *at >= 'a' && *at <= 'z' ? *at - 32 : *at);
		}
		unsetenv(variable);
	}
	snprintf(user, sizeof(user), "%s/user", directory);
	snprintf(system_wide, sizeof(system_wide), "%s/system", directory);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(user);
	unlink(system_wide);
	return rmdir(directory);
}

static void test_order_of_sources(void **state)
{
	size_t on_full = index_of("on-full");
	(void)state;
	struct hk_settings *settings = hk_settings_new_from(user, system_wide);
	assert_string_equal(hk_settings_get(settings, "on-full"), "drop");
	assert_null(hk_settings_get(settings, "store"));
	assert_int_equal(hk_settings_source_of(settings, on_full), HK_SETTINGS_DEFAULT);
	hk_settings_free(settings);

	write_file(system_wide, "[any]\non-full = wait:1\nlevel = time\n");
	settings = hk_settings_new_from(user, system_wide);
	assert_string_equal(hk_settings_get(settings, "on-full"), "wait:1");
	assert_string_equal(hk_settings_where(settings, on_full), system_wide);
	hk_settings_free(settings);

	write_file(user, "on-full = wait:2\n");
	settings = hk_settings_new_from(user, system_wide);
	assert_string_equal(hk_settings_get(settings, "on-full"), "wait:2");
	assert_string_equal(hk_settings_get(settings, "level"), "time");
	assert_int_equal(hk_settings_source_of(settings, on_full), HK_SETTINGS_USER);
	hk_settings_free(settings);

	setenv("HOOK_ON_FULL", "wait:3", 1);
	settings = hk_settings_new_from(user, system_wide);
	assert_string_equal(hk_settings_get(settings, "on-full"), "wait:3");
	assert_string_equal(hk_settings_where(settings, on_full), "HOOK_ON_FULL");
	assert_int_equal(hk_settings_set(settings, "on-full", "wait:4"), 0);
	assert_string_equal(hk_settings_get(settings, "on-full"), "wait:4");
	assert_int_equal(hk_settings_source_of(settings, on_full), HK_SETTINGS_FLAG);
	assert_true(hk_settings_set(settings, "no-such", "1") < 0);
	assert_null(hk_settings_complaint(settings));
	hk_settings_free(settings);

	/* An empty variable says nothing. */
	setenv("HOOK_ON_FULL", "", 1);
	settings = hk_settings_new_from(user, system_wide);
	assert_string_equal(hk_settings_get(settings, "on-full"), "wait:2");
	hk_settings_free(settings);
	unsetenv("HOOK_ON_FULL");
}

static void test_bad_files_are_told_and_survived(void **state)
{
	(void)state;
	write_file(user, "lvel = time\non-full = wait:5\n");
	struct hk_settings *settings = hk_settings_new_from(user, NULL);
	assert_non_null(strstr(hk_settings_complaint(settings), "lvel"));
	assert_string_equal(hk_settings_get(settings, "on-full"), "wait:5");
	hk_settings_free(settings);

	write_file(user, "on-full = wait:6\nno equals sign\n");
	settings = hk_settings_new_from(user, NULL);
	assert_non_null(strstr(hk_settings_complaint(settings), ":2:"));
	assert_string_equal(hk_settings_get(settings, "on-full"), "wait:6");
	hk_settings_free(settings);

	settings = hk_settings_new_from("/", NULL);
	assert_non_null(strstr(hk_settings_complaint(settings), "cannot be read"));
	hk_settings_free(settings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_order_of_sources),
	    cmocka_unit_test(test_bad_files_are_told_and_survived),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
