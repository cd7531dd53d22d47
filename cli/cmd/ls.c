/* hookcli ls: lists the jobs of the running collectors, in the store and in the current
 * directory. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/command.h"
#include "cli/job/collectors.h"
#include "cli/job/job.h"
#include "cli/job/job_list.h"
#include "cli/option.h"
#include "settings/settings.h"
#include "text/name.h"
#include "text/quantity.h"
#include "text/table.h"

#define ID_COLUMNS 255

enum style { STYLE_TABLE, STYLE_JSON, STYLE_IDS };

struct arguments {
	enum style style;
	bool store; /* the jobs of --store only */
};

#define OPTION_IDS 0x100

static const struct argp_option options[] = {
    HK_OPTION_JSON,
    {"ids", OPTION_IDS, NULL, 0, "Print the jobs' ids only, one to a line", 0},
    {"store", 's', "DIR", 0, "List the jobs in DIR only", 0},
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case HK_OPTION_KEY_JSON:
		arguments->style = STYLE_JSON;
		return 0;
	case OPTION_IDS:
		arguments->style = STYLE_IDS;
		return 0;
	case 's':
		arguments->store = true;
		return -hk_settings_set(hk_command_settings(), "store", argument);
	case ARGP_KEY_ARG:
		hk_option_no_job(state, "ls", argument);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .doc = "List jobs: those of the user's running collectors, in the store and in this directory.",
    .children = hk_option_children,
};

static int write_json(const struct hk_job_list *list)
{
	json_t *root = json_array();

	for (size_t i = 0; i < list->count; i++) {
		const struct hk_job_entry *entry = &list->entries[i];
		char *texts[4] = {hk_name_utf8(entry->id), hk_name_utf8(entry->state),
				  hk_name_utf8(entry->command), hk_name_utf8(entry->directory)};
		json_array_append_new(
		    root,
		    json_pack("{s:s?, s:s?, s:s?, s:s?, s:I, s:I, s:i, s:i, s:b}", "id", texts[0],
			      "state", texts[1], "command", texts[2], "directory", texts[3],
			      "start_unix_ns", (json_int_t)entry->start_unix_ns, "duration_ns",
			      (json_int_t)entry->duration_ns, "world_size", (int)entry->world_size,
			      "triggers", (int)entry->triggers, "live", (int)entry->live));
		for (size_t t = 0; t < 4; t++) {
			free(texts[t]);
		}
	}
	int r = json_dumpf(root, stdout, JSON_INDENT(1));
	puts("");
	json_decref(root);
	return r == 0 ? HK_EXIT_DONE : HK_EXIT_FAILED;
}

static int write_table(const struct hk_job_list *list)
{
	bool triggers = false;

	for (size_t i = 0; i < list->count; i++) {
		triggers |= list->entries[i].triggers > 0;
	}
	struct hk_table *table = hk_table_new(
	    triggers ? "<job:40|<state|>ranks|<started|>time|>triggers|<command:40|<directory:80"
		     : "<job:40|<state|>ranks|<started|>time|<command:40|<directory:80");

	for (size_t i = 0; i < list->count; i++) {
		const struct hk_job_entry *entry = &list->entries[i];
		char started[32] = "-", duration[HK_QUANTITY_BYTES];
		time_t seconds = (time_t)(entry->start_unix_ns / 1000000000u);
		struct tm local;
		if (localtime_r(&seconds, &local)) {
			strftime(started, sizeof(started), "%Y-%m-%d %H:%M:%S", &local);
		}
		hk_table_add(table, "%s", entry->id);
		hk_table_add(table, "%s", entry->state);
		hk_table_add(table, "%" PRId32, entry->world_size);
		hk_table_add(table, "%s", started);
		hk_table_add(table, "%s",
			     entry->duration_ns ? hk_quantity_duration(duration, entry->duration_ns)
						: "-");
		if (triggers) {
			hk_table_add(table, "%" PRIu32, entry->triggers);
		}
		hk_table_add(table, "%s", entry->command);
		hk_table_add(table, "%s", entry->directory);
	}
	int r = hk_table_write(table, stdout, hk_command_colour(stdout));
	hk_table_free(table);
	return r == 0 ? HK_EXIT_DONE : HK_EXIT_FAILED;
}

static int write_ids(const struct hk_job_list *list)
{
	char id[HK_NAME_BYTES(ID_COLUMNS)];

	for (size_t i = 0; i < list->count; i++) {
		hk_name_print(id, ID_COLUMNS, list->entries[i].id);
		puts(id);
	}
	return HK_EXIT_DONE;
}

static int fill(struct hk_job_list *list, const struct arguments *arguments)
{
	char store[PATH_MAX];
	int code = arguments->store ? HK_EXIT_DONE : hk_job_list_add_collectors(list);

	if (code != HK_EXIT_DONE) {
		return code;
	}
	if (hk_collectors_store(store) == 0) {
		if (arguments->store && access(store, R_OK | X_OK) < 0) {
			hk_error("cannot read %s: %s", store, strerror(errno));
			return HK_EXIT_ABSENT;
		}
		hk_job_list_add_store(list, store, "");
	}
	if (!arguments->store) {
		hk_job_list_add_store(list, ".", HK_JOB_HERE);
	}
	hk_job_list_sort(list);
	return HK_EXIT_DONE;
}

static int write_list(const struct hk_job_list *list, enum style style)
{
	switch (style) {
	case STYLE_JSON:
		return write_json(list);
	case STYLE_IDS:
		return write_ids(list);
	default:
		if (list->count > 0) {
			return write_table(list);
		}
		fputs("no jobs yet: trace one with: hookcli run -- CMD\n", stderr);
		return HK_EXIT_DONE;
	}
}

static int run(int argc, char **argv)
{
	struct arguments arguments = {.style = STYLE_TABLE};

	if (argp_parse(&argp, argc, argv, 0, NULL, &arguments) != 0) {
		return HK_EXIT_USAGE;
	}
	struct hk_job_list *list = hk_job_list_new();
	if (!list) {
		hk_error("out of memory");
		return HK_EXIT_FAILED;
	}
	int code = fill(list, &arguments);
	if (code == HK_EXIT_DONE) {
		code = hk_command_output_close(stdout, write_list(list, arguments.style));
	}
	hk_job_list_free(list);
	return code;
}

static const char examples[] =
    "hookcli ls\tList the jobs there are\n"
    "hookcli ls --store results --json\tList the jobs in ./results as JSON";

const struct hk_command hk_command_ls = {
    {"ls", "list the jobs there are", &argp, NULL, NULL, examples}, run};
