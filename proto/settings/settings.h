/* settings.h: the value of each option: flag, then HOOK_* variable, then configuration files, then
 * default. One table holds every long option of the programs that may also be set elsewhere: option
 * `x-y` is the variable HOOK_X_Y and the key `x-y` of ~/.config/hooktrace.conf and
 * /etc/hooktrace.conf. Values are text; the program that uses a value checks it. One owner per
 * struct, not thread-safe; values live until hk_settings_free. */
#ifndef HK_SETTINGS_SETTINGS_H
#define HK_SETTINGS_SETTINGS_H

#include <stddef.h>

#define HK_SETTINGS_SYSTEM_FILE "/etc/hooktrace.conf"

struct hk_setting {
	const char *name;     /* the long option */
	const char *argument; /* metavariable of its value; NULL: a switch, "1" is on */
	const char *fallback; /* default, NULL: no default */
	const char *help;
};

enum hk_settings_source {
	HK_SETTINGS_DEFAULT = 0,
	HK_SETTINGS_SYSTEM, /* /etc/hooktrace.conf */
	HK_SETTINGS_USER,   /* ~/.config/hooktrace.conf */
	HK_SETTINGS_VARIABLE,
	HK_SETTINGS_FLAG,
};

struct hk_settings;

extern const struct hk_setting hk_settings_table[];
extern const size_t hk_settings_count;

/* Reads variables and files. Files that cannot be opened are ignored. Returns NULL if out of
 * memory. */
struct hk_settings *hk_settings_new(void);

/* The same with these files (NULL: no file). */
struct hk_settings *hk_settings_new_from(const char *user_file, const char *system_file);

/* Frees; accepts NULL, returns NULL. */
struct hk_settings *hk_settings_free(struct hk_settings *settings);

/* Value in force, NULL if it is set nowhere and has no default. Owned by the settings. */
const char *hk_settings_get(const struct hk_settings *settings, const char *name);

/* Sets a value from the command line. Returns 0, -ENOENT if there is no such setting, or
 * -ENOMEM. */
int hk_settings_set(struct hk_settings *settings, const char *name, const char *value);

/* Source of the value of setting number `index`, and its description: a variable's name, a file's
 * path, "default". */
enum hk_settings_source hk_settings_source_of(const struct hk_settings *settings, size_t index);
const char *hk_settings_where(const struct hk_settings *settings, size_t index);

/* The first error in a configuration file as "path:line: what", or as "path: what" for an unknown
 * setting or a read error. NULL if there is no error. */
const char *hk_settings_complaint(const struct hk_settings *settings);

#endif
