#include "cli/target/job_settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cli/command.h"
#include "cli/target/hooks_option.h"
#include "settings/keep.h"
#include "settings/settings.h"
#include "trigger/plan.h"

static int check_on_full(const char *value)
{
	char *end;

	if (strcmp(value, "drop") == 0) {
		return 0;
	}
	if (strncmp(value, "wait:", 5) == 0 && value[5] >= '0' && value[5] <= '9') {
		unsigned long ms = strtoul(value + 5, &end, 10);
		if (!*end && ms <= 60000) {
			return 0;
		}
	}
	hk_error("--on-full '%s' is neither drop nor wait:MS (at most 60000)", value);
	return -EINVAL;
}

static int check_keep(const char *value)
{
	struct hk_keep keep;

	if (value && hk_keep_parse(value, &keep) < 0) {
		hk_error("--keep '%s' is neither all nor a number with s, K, M or G", value);
		return -EINVAL;
	}
	return 0;
}

static int check_budget(const char *value)
{
	char *end;

	if (strcmp(value, "off") == 0) {
		return 0;
	}
	/* strtod would also accept signs, "inf" and "nan". */
	if (!value[strspn(value, "0123456789.")]) {
		double percent = strtod(value, &end);
		if (!*end && percent > 0 && percent <= 100) {
			return 0;
		}
	}
	hk_error("--budget '%s' is neither off nor a percentage above 0, at most 100", value);
	return -EINVAL;
}

/* Reads the plan of triggers. Returns 0, or -EINVAL after a line on stderr. */
static int read_triggers(struct hk_plan *plan)
{
	const struct hk_plan_options options = {
	    .conditions = hk_command_setting("trigger"),
	    .keep = hk_command_setting("trigger-keep"),
	    .raise = hk_command_setting("trigger-for"),
	    .level = hk_command_setting("trigger-level"),
	    .size = hk_command_setting("trigger-size"),
	};
	char why[HK_PLAN_WHY_BYTES];
	int r = hk_plan_parse(&options, plan, why);

	if (r < 0) {
		hk_error("%s", why);
	}
	return r;
}

Hk__TriggerPlan *hk_job_settings_triggers(void)
{
	static struct hk_plan_message message;
	static struct hk_plan plan;

	if (!hk_command_setting("trigger") || read_triggers(&plan) < 0) {
		return NULL;
	}
	hk_plan_write(&plan, &message);
	return &message.message;
}

int hk_job_settings_check(void)
{
	struct hk_plan plan;
	const char *level = hk_command_setting("level"), *on_full = hk_command_setting("on-full");

	if ((level && hk_hooks_option_level(level) < 0) ||
	    (on_full && check_on_full(on_full) < 0) || check_keep(hk_command_setting("keep")) < 0 ||
	    check_budget(hk_command_setting("budget")) < 0 || read_triggers(&plan) < 0) {
		return -EINVAL;
	}
	return 0;
}

int hk_job_settings_record_watched(void)
{
	struct hk_plan plan;
	const char *level = hk_command_setting("level"), *given = level ? level : "";
	char *levels = NULL;
	size_t size;

	if (!hk_command_setting("trigger") || read_triggers(&plan) < 0) {
		return 0;
	}
	FILE *output = open_memstream(&levels, &size);
	if (!output) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < plan.count; i++) {
		if (*plan.conditions[i].pattern) {
			fprintf(output, "%s=record,", plan.conditions[i].pattern);
		}
	}
	fputs(given, output);
	int r = fclose(output) == 0 ? 0 : -ENOMEM;
	size_t length = r == 0 ? strlen(levels) : 0;
	if (length > 0) {
		levels[length - 1] = *given ? levels[length - 1] : '\0';
		r = hk_settings_set(hk_command_settings(), "level", levels);
	}
	free(levels);
	return r;
}
