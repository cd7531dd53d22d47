#include "hooks/language/fortran.h"

#include <stdbool.h>

#include "hooks/language/place.h"

static bool uses_result(const struct hk_hook *hook)
{
	for (unsigned v = 0; v < hook->value_count; v++) {
		for (unsigned f = 0; f < hook->values[v].factor_count; f++) {
			if (hook->values[v].factors[f].kind == HK_FACTOR_RESULT) {
				return true;
			}
		}
	}
	return false;
}

static void convert(struct hk_hook_arg *arg, uint8_t kind)
{
	if (kind == HK_DRAFT_HANDLE) {
		arg->type = HK_TYPE_INT;
		arg->reference = 1;
	} else if (arg->type == HK_TYPE_STR || arg->type == HK_TYPE_TEXT ||
		   arg->type == HK_TYPE_STRUCT || arg->type == HK_TYPE_DIM3) {
		arg->type = HK_TYPE_PTR; /* no NUL at its end; structs go by address */
		arg->words = 0;
	} else if (arg->type != HK_TYPE_PTR) {
		arg->reference = 1;
	}
}

int hk_fortran_derive(struct hk_scan *scan, const struct hk_draft *line,
		      struct hk_draft *ret_fortran)
{
	struct hk_draft fortran = *line;
	struct hk_hook *hook = &fortran.hook;
	unsigned hidden = line->hidden;

	if (uses_result(hook)) {
		return hk_scan_fail(scan, "no Fortran form: a value uses the result of",
				    line->symbol);
	}
	if (hook->arg_count == HK_HOOK_ARGS) {
		return hk_scan_fail(scan, "no Fortran form: too many arguments for", line->symbol);
	}
	for (unsigned i = 0; i < hook->arg_count; i++) {
		hidden += line->kinds[i] == HK_DRAFT_CHARS;
		convert(&hook->args[i], line->kinds[i]);
	}
	fortran.names[hook->arg_count] = hk_word_of("ierror");
	hook->args[hook->arg_count++] = (struct hk_hook_arg){.type = HK_TYPE_INT, .reference = 1};
	hook->result = HK_TYPE_VOID;
	hook->error = HK_ERROR_IERR;
	hook->flags |= HK_HOOK_FORTRAN;
	if (hk_locate_arguments(hook, hidden) < 0) {
		return hk_scan_fail(scan, "no Fortran form: too many arguments for", line->symbol);
	}
	*ret_fortran = fortran;
	return 0;
}
