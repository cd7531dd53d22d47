#include "cli/target/coverage_table.h"

#include <stdlib.h>
#include <string.h>

#include "report/write/coverage_write.h"
#include "text/name.h"

#define COMMAND_COLUMNS 28
#define NOTE_COLUMNS 200
#define RUNNING_SHOWN 16u

/* Returns the command line without the directory of its program. */
static const char *without_directory(const char *command)
{
	const char *slash = memrchr(command, '/', strcspn(command, " "));

	return slash ? slash + 1 : command;
}

static void note_write(const char *title, const char *note, FILE *output)
{
	char text[HK_NAME_BYTES(NOTE_COLUMNS)];

	if (*note) {
		hk_name_print(text, NOTE_COLUMNS, note);
		fprintf(output, "      %s%s\n", title, text);
	}
}

static void process_write(const struct hk_report_process *process, FILE *output)
{
	char command[HK_NAME_BYTES(COMMAND_COLUMNS)];

	hk_name_print(command, COMMAND_COLUMNS, without_directory(process->command));
	fprintf(output, "%5d %-8s %8u %-28s %7u %7u %7u %7u %7u\n", process->rank, process->role,
		process->pid, command, process->objects, process->slots_found,
		process->slots_patched, process->slots_refused, process->symbols_escaped);
	if (strcmp(process->agent, "on") != 0) {
		fprintf(output, "      agent %s\n", process->agent);
	}
	if (strcmp(process->exit.kind, "silent") == 0) {
		fputs("      silent: as last heard of\n", output);
	}
	note_write("", process->coverage, output);
	note_write("note: ", process->note, output);
}

void hk_coverage_table_write(const struct hk_report *report, bool running, FILE *output)
{
	size_t shown = 0, more = 0;

	fprintf(output, "%5s %-8s %8s %-28s %7s %7s %7s %7s %7s\n", "RANK", "ROLE", "PID",
		"COMMAND", "OBJECTS", "FOUND", "PATCHED", "REFUSED", "ESCAPED");
	for (size_t i = 0; i < report->process_count; i++) {
		const struct hk_report_process *process = &report->processes[i];
		if (running && !process->running) {
			continue;
		}
		if (running && shown == RUNNING_SHOWN) {
			more++;
			continue;
		}
		process_write(process, output);
		shown++;
	}
	if (more > 0) {
		fprintf(output, "      %zu more: hookcli report --format text\n", more);
	}
}

static void set_text(json_t *object, const char *key, const char *text)
{
	char *clean = hk_name_utf8(text);

	json_object_set_new(object, key, clean ? json_string(clean) : NULL);
	free(clean);
}

json_t *hk_coverage_table_json(const struct hk_report *report)
{
	json_t *list = json_array();

	for (size_t i = 0; i < report->process_count; i++) {
		const struct hk_report_process *process = &report->processes[i];
		json_t *entry = hk_coverage_json(process);

		set_text(entry, "command", process->command);
		set_text(entry, "agent", process->agent);
		set_text(entry, "note", process->note);
		json_array_append_new(list, entry);
	}
	return list;
}
