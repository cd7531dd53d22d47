/* hookcli hooks: lists the shipped hooks files, or shows what one of them or the user's own file
 * makes the agent do. */
#include <argp.h>
#include <errno.h>
#include <stdbool.h>

#include "base/log.h"
#include "cli/command.h"
#include "cli/option.h"
#include "cli/target/hooks_text.h"
#include "hooks/names.h"
#include "hooks/shipped.h"

#define NAME_COLUMNS 34

/* Copies the hooks of shipped file NUMBER into an array that the caller frees. Returns 0 or
 * -ENOMEM. */
static int open_shipped(unsigned int number, struct hk_hook_file *ret_file)
{
	const struct hk_shipped_file *file = &hk_shipped_file_list[number];
	struct hk_hook *hooks = calloc(file->count ? file->count : 1, sizeof(*hooks));

	if (!hooks) {
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < file->count; i++) {
		hk_shipped_get(file->first + i, &hooks[i]);
	}
	*ret_file = (struct hk_hook_file){
	    .name = hk_shipped_name(number), .hooks = hooks, .hook_count = file->count};
	return 0;
}

/* ---- the list ---- */

static bool seen_before(const struct hk_hook_file *file, uint32_t index)
{
	for (uint32_t i = 0; i < index; i++) {
		if (strcmp(file->hooks[i].domain, file->hooks[index].domain) == 0) {
			return true;
		}
	}
	return false;
}

static void print_domains(const struct hk_hook_file *file)
{
	const char *separator = "";

	for (uint32_t i = 0; i < file->hook_count; i++) {
		if (!(file->hooks[i].flags & HK_HOOK_DENY) && !seen_before(file, i)) {
			printf("%s%s", separator, file->hooks[i].domain);
			separator = ", ";
		}
	}
}

static int list_file(unsigned int number)
{
	struct hk_hook_file file;

	if (open_shipped(number, &file) < 0) {
		return -ENOMEM;
	}
	printf("%-10s %10u %8u  ", file.name, file.hook_count,
	       hk_shipped_file_list[number].automatic);
	if (file.hook_count && (file.hooks[0].flags & HK_HOOK_DENY)) {
		fputs("(never hooked)", stdout);
	} else {
		print_domains(&file);
	}
	putchar('\n');
	free((void *)file.hooks);
	return 0;
}

static int list_files(void)
{
	printf("%-10s %10s %8s  %s\n", "FILE", "FUNCTIONS", "IN AUTO", "DOMAINS");
	for (unsigned int i = 0; i < hk_shipped_file_count; i++) {
		if (list_file(i) < 0) {
			hk_error("out of memory");
			return HK_EXIT_FAILED;
		}
	}
	puts("\nhookcli hooks NAME shows one; --hooks takes these names, a file of your own, or "
	     "lib:symbol.");
	return HK_EXIT_DONE;
}

/* ---- one file ---- */

static void print_argument(const struct hk_hook_arg *argument, const char *separator)
{
	printf("%s%s%s%s%s", separator, hk_names_get(&hk_names_type, argument->type),
	       argument->reference ? " *" : "", argument->name && *argument->name ? " " : "",
	       argument->name ? argument->name : "");
}

static void print_signature(const struct hk_hook *hook)
{
	if (!(hook->flags & HK_HOOK_DESCRIBED)) {
		return;
	}
	printf("  %s(", hk_names_get(&hk_names_type, hook->result));
	for (unsigned int i = 0; i < hook->arg_count; i++) {
		print_argument(&hook->args[i], i ? ", " : "");
	}
	putchar(')');
}

static void print_values(const struct hk_hook *hook)
{
	for (unsigned int i = 0; i < hook->value_count; i++) {
		printf("%s%s", i ? "," : "", hk_key_name(hook->values[i].key));
	}
	if (!hook->value_count) {
		putchar('-');
	}
}

/* Prints what happens instead of the call, and for which callers. */
static void print_change(const struct hk_hook *hook)
{
	switch (hook->action) {
	case HK_ACTION_REPLACE:
		printf("  replaced by %s:%s", hook->with_library,
		       hook->with_symbol ? hook->with_symbol : hook->symbol);
		break;
	case HK_ACTION_SKIP:
		fputs("  skipped", stdout);
		break;
	case HK_ACTION_RETURN:
		printf("  not called, returns %#lx", (unsigned long)hook->returns);
		break;
	default:
		break;
	}
	if (hook->from) {
		printf("  from %s", hook->from);
	}
}

static void print_hook(const struct hk_hook *hook)
{
	char name[256], level[HK_LEVEL_BYTES];
	bool everywhere = strcmp(hook->library, "*") == 0;

	snprintf(name, sizeof(name), "%s%s%s", everywhere ? "" : hook->library,
		 everywhere ? "" : ":", hook->symbol);
	if (hook->flags & HK_HOOK_DENY) {
		printf("%-*s never hooked\n", NAME_COLUMNS, name);
		return;
	}
	printf("%-*s %-8s %-8s %-8s %-10s ", NAME_COLUMNS, name, hook->domain,
	       hk_level_print(hook->level, hook->stack_rate, level),
	       hk_level_name(hook->auto_level),
	       hook->meaning ? hk_names_get(&hk_names_meaning, hook->meaning) : "-");
	print_values(hook);
	print_signature(hook);
	print_change(hook);
	putchar('\n');
}

static void show_file(const struct hk_hook_file *file)
{
	printf("%-*s %-8s %-8s %-8s %-10s %s\n", NAME_COLUMNS, "FUNCTION", "DOMAIN", "LEVEL",
	       "AUTO", "MEANING", "VALUES AND SIGNATURE");
	for (uint32_t i = 0; i < file->hook_count; i++) {
		print_hook(&file->hooks[i]);
	}
}

/* Shows the shipped file NAME. Returns an exit code, or -ENOENT if no shipped file has this
 * name. */
static int show_shipped(const char *name)
{
	struct hk_hook_file file;

	for (unsigned int i = 0; i < hk_shipped_file_count; i++) {
		if (strcmp(hk_shipped_name(i), name) != 0) {
			continue;
		}
		if (open_shipped(i, &file) < 0) {
			hk_error("out of memory");
			return HK_EXIT_FAILED;
		}
		show_file(&file);
		free((void *)file.hooks);
		return HK_EXIT_DONE;
	}
	return -ENOENT;
}

/* ---- a user's file ---- */

static void print_bad_line(void *context, const char *file, uint32_t line, const char *message)
{
	(void)context;
	hk_error("%s:%u: %s", file, line, message);
}

static int show_text(const char *path, const char *text, size_t size)
{
	struct hk_hooks_report report = {.bad_line = print_bad_line};
	struct hk_hook_file file;
	void *memory;

	if (hk_hooks_text_parse(path, text, size, &report, &file, &memory) < 0) {
		hk_error("out of memory");
		return HK_EXIT_FAILED;
	}
	show_file(&file);
	free(memory);
	if (file.bad_lines) {
		hk_error("%s: %u %s left out; the others hold", path, file.bad_lines,
			 file.bad_lines == 1 ? "line" : "lines");
		return HK_EXIT_FAILED;
	}
	return HK_EXIT_DONE;
}

static int show_path(const char *path)
{
	char *text = NULL;
	size_t size = 0;
	int rc = hk_hooks_text_read(path, &text, &size);

	if (rc == -ENOENT && !strchr(path, '/')) {
		hk_error("no hooks file '%s'; `hookcli hooks` lists those that are shipped", path);
		return HK_EXIT_USAGE;
	}
	if (rc < 0) {
		hk_error("cannot read %s: %s", path, strerror(-rc));
		return HK_EXIT_FAILED;
	}
	rc = show_text(path, text, size);
	free(text);
	return rc;
}

/* ---- the command ---- */

static error_t parse(int key, char *argument, struct argp_state *state)
{
	const char **name = state->input;

	if (key != ARGP_KEY_ARG) {
		return ARGP_ERR_UNKNOWN;
	}
	hk_option_only(state, "hooks file", argument, name);
	return 0;
}

static const struct argp argp = {
    .parser = parse,
    .args_doc = "[NAME|FILE]",
    .doc = "List the shipped hooks files; with NAME show the functions of one, with FILE check and "
	   "show your own.",
    .children = hk_option_children,
};

static int run(int argc, char **argv)
{
	const char *name = NULL;

	if (argp_parse(&argp, argc, argv, 0, NULL, &name)) {
		return HK_EXIT_USAGE;
	}
	int rc = name ? show_shipped(name) : list_files();
	if (rc == -ENOENT) {
		rc = show_path(name);
	}
	return hk_command_output_close(stdout, rc);
}

static const char *file_word(size_t index)
{
	return index < hk_shipped_file_count ? hk_shipped_name((unsigned int)index) : NULL;
}

static const struct hk_manual_values values[] = {{"", file_word}, {0}};

static const char examples[] = "hookcli hooks\tList the shipped hooks files\n"
			       "hookcli hooks mpi\tShow what the file mpi hooks";

const struct hk_command hk_command_hooks = {
    {"hooks", "list the shipped hooks files, or show and check one", &argp, NULL, values, examples},
    run};
