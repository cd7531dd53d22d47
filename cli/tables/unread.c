#include "cli/tables/unread.h"

#include <errno.h>
#include <stdlib.h>

#include "text/name.h"

#define COLUMNS 100

static int add(struct hk_unread *unread, const Hk__StackObject *object)
{
	const char *library = hk_report_strings_get(&unread->strings, object->path);
	const char *reason = hk_report_strings_get(&unread->strings, object->unread);
	size_t known = 0;

	if (!library || !reason) {
		return -ENOMEM;
	}
	while (known < unread->count && unread->objects[known].library != library) {
		known++;
	}
	if (known < unread->count) {
		return 0;
	}
	struct hk_unread_object *larger =
	    reallocarray(unread->objects, unread->count + 1, sizeof(*larger));
	if (!larger) {
		return -ENOMEM;
	}
	unread->objects = larger;
	larger[unread->count++] = (struct hk_unread_object){library, reason};
	return 0;
}

int hk_unread_add(struct hk_unread *unread, const Hk__Process *process)
{
	int r = 0;

	for (size_t i = 0; i < process->n_stack_objects && r == 0; i++) {
		r = *process->stack_objects[i]->unread ? add(unread, process->stack_objects[i]) : 0;
	}
	return r;
}

void hk_unread_write_text(const struct hk_unread *unread, FILE *output)
{
	char library[HK_NAME_BYTES(COLUMNS)], reason[HK_NAME_BYTES(COLUMNS)];

	for (size_t i = 0; i < unread->count; i++) {
		hk_name_print_end(library, COLUMNS, unread->objects[i].library);
		hk_name_print(reason, COLUMNS, unread->objects[i].reason);
		fprintf(output, "! functions of %s are not named: %s\n", library, reason);
	}
}

void hk_unread_write_json(const struct hk_unread *unread, struct hk_json *json)
{
	hk_json_open(json, "unread", '[');
	for (size_t i = 0; i < unread->count; i++) {
		hk_json_open(json, NULL, '{');
		hk_json_string(json, "library", unread->objects[i].library);
		hk_json_string(json, "reason", unread->objects[i].reason);
		hk_json_close(json, '}');
	}
	hk_json_close(json, ']');
}

void hk_unread_fini(struct hk_unread *unread)
{
	hk_report_strings_fini(&unread->strings);
	free(unread->objects);
	*unread = (struct hk_unread){.count = 0};
}
