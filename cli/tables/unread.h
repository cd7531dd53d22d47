/* unread.h: objects on stacks whose functions have no names, each once, with the reason. */
#ifndef HK_CLI_TABLES_UNREAD_H
#define HK_CLI_TABLES_UNREAD_H

#include <stddef.h>
#include <stdio.h>

#include "report/model/strings.h"
#include "schema/wire.pb-c.h"
#include "text/json_stream.h"

struct hk_unread {
	struct hk_report_strings strings;
	struct hk_unread_object {
		const char *library, *reason;
	} * objects;
	size_t count;
};

/* Adds the objects of PROCESS. Returns 0 or -ENOMEM. */
int hk_unread_add(struct hk_unread *unread, const Hk__Process *process);

void hk_unread_write_text(const struct hk_unread *unread, FILE *output);

/* Writes them as member "unread". */
void hk_unread_write_json(const struct hk_unread *unread, struct hk_json *json);

void hk_unread_fini(struct hk_unread *unread);

#endif
