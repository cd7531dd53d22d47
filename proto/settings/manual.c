#include "settings/manual.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/* ---- roff ---- */

/* Text of a line, with roff's control characters escaped. */
static void roff_text(FILE *output, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		bool first = i == 0 || text[i - 1] == '\n';
		if (first && (text[i] == '.' || text[i] == '\'')) {
			fputs("\\&", output);
		}
		if (text[i] == '\\') {
			fputs("\\e", output);
		} else if (text[i] == '-') {
			fputs("\\-", output);
		} else {
			fputc(text[i], output);
		}
	}
}

static void roff_string(FILE *output, const char *text)
{
	roff_text(output, text, strlen(text));
}

static void roff_upper(FILE *output, const char *text)
{
	for (; *text; text++) {
		fputc(toupper((unsigned char)*text), output);
	}
}

/* The part of argp's DOC before or behind its '\v'; an empty part writes nothing. */
static void roff_doc(FILE *output, const char *heading, const char *doc, bool behind)
{
	const char *split = doc ? strchr(doc, '\v') : NULL;
	const char *from = behind ? (split ? split + 1 : NULL) : doc;
	size_t length = !from ? 0 : !behind && split ? (size_t)(split - from) : strlen(from);

	if (length > 0) {
		fprintf(output, ".SH %s\n", heading);
		roff_text(output, from, length);
		fputc('\n', output);
	}
}

static bool has_letter(const struct argp_option *option)
{
	return option->key > 0 && option->key < 256 && isgraph(option->key);
}

static bool is_shown(const struct argp_option *option)
{
	return option->name && !(option->flags & (OPTION_HIDDEN | OPTION_DOC | OPTION_ALIAS));
}

static bool is_end(const struct argp_option *option)
{
	return !option->name && !option->key && !option->doc && !option->group;
}

static void roff_argument(FILE *output, const struct argp_option *option, const char *before)
{
	if (option->arg) {
		fputs(before, output);
		fputs("\\fI", output);
		roff_string(output, option->arg);
		fputs("\\fR", output);
	}
}

static void roff_option(FILE *output, const struct argp_option *option)
{
	fputs(".TP\n", output);
	if (has_letter(option)) {
		fprintf(output, "\\fB\\-%c\\fR, ", option->key);
	}
	fputs("\\fB\\-\\-", output);
	roff_string(output, option->name);
	fputs("\\fR", output);
	roff_argument(output, option, "=");
	fputc('\n', output);
	roff_string(output, option->doc ? option->doc : "");
	fputc('\n', output);
}

static void roff_options(FILE *output, const struct argp *argp)
{
	for (const struct argp_option *option = argp->options; option && !is_end(option);
	     option++) {
		if (is_shown(option)) {
			roff_option(output, option);
		}
	}
	for (const struct argp_child *child = argp->children; child && child->argp; child++) {
		roff_options(output, child->argp);
	}
}

/* Each line of argp's ARGS is one way to call the command. */
static void roff_synopsis(FILE *output, const char *name, const char *command, const char *args)
{
	fputs(".SH SYNOPSIS\n", output);
	for (bool more = true; more;) {
		size_t length = strcspn(args, "\n");
		fprintf(output, ".B %s", name);
		fprintf(output, "%s%s\n", command ? " " : "", command ? command : "");
		fputs("[\\fIOPTION\\fR...] ", output);
		roff_text(output, args, length);
		more = args[length] == '\n';
		fputs(more ? "\n.br\n" : "\n", output);
		args += length + more;
	}
}

static void roff_exits(FILE *output, const char *exits)
{
	fputs(".SH EXIT STATUS\n", output);
	while (*exits) {
		size_t length = strcspn(exits, "\n"), word = strcspn(exits, " ");
		fprintf(output, ".TP\n.B %.*s\n", (int)word, exits);
		roff_text(output, exits + word + 1, length - word - 1);
		fputc('\n', output);
		exits += length + (exits[length] == '\n');
	}
}

static void roff_examples(FILE *output, const char *examples)
{
	fputs(".SH EXAMPLES\n", output);
	while (*examples) {
		size_t line = strcspn(examples, "\n"), command = strcspn(examples, "\t");
		fputs(".PP\n", output);
		roff_text(output, examples + command + 1, line - command - 1);
		fputs(":\n.PP\n.nf\n.RS 4\n", output);
		roff_text(output, examples, command);
		fputs("\n.RE\n.fi\n", output);
		examples += line + (examples[line] == '\n');
	}
}

static void roff_commands(FILE *output, const struct hk_manual_program *program)
{
	fputs(".SH COMMANDS\n", output);
	for (size_t i = 0; i < program->command_count; i++) {
		fprintf(output, ".TP\n.BR %s\\-%s (1)\n", program->name,
			program->commands[i]->name);
		roff_string(output, program->commands[i]->summary);
		fputc('\n', output);
	}
}

static void roff_foot(FILE *output, const struct hk_manual_program *program, bool of_command)
{
	fputs(
	    ".SH ENVIRONMENT\nEvery long option \\-\\-x\\-y that is a setting is also the variable "
	    "HOOK_X_Y, and the line `x\\-y = value' of a configuration file; "
	    "\\fBhookcli status \\-\\-config\\fR shows what is in force and where it comes "
	    "from. NO_COLOR switches colours off, as TERM=dumb does.\n"
	    ".SH FILES\n.TP\n.I ~/.config/hooktrace.conf\nsettings of the user\n"
	    ".TP\n.I /etc/hooktrace.conf\nsettings of the machine\n",
	    output);
	fputs(".SH SEE ALSO\n", output);
	if (of_command) {
		fprintf(output, "\\fB%s\\fR(1), ", program->name);
	}
	roff_string(output, program->see);
	fputc('\n', output);
}

void hk_manual_write(const struct hk_manual_program *program,
		     const struct hk_manual_command *command, FILE *output)
{
	const struct argp *argp = command ? command->argp : program->argp;

	fputs(".TH ", output);
	roff_upper(output, program->name);
	if (command) {
		fputc('-', output);
		roff_upper(output, command->name);
	}
	fprintf(output, " 1 \"\" \"hooktrace %s\" \"hooktrace\"\n.SH NAME\n", HK_VERSION);
	roff_string(output, program->name);
	if (command) {
		fprintf(output, "\\-%s", command->name);
	}
	fputs(" \\- ", output);
	roff_string(output, command ? command->summary : program->summary);
	fputc('\n', output);
	roff_synopsis(output, program->name, command ? command->name : NULL,
		      argp ? (argp->args_doc ? argp->args_doc : "") : "COMMAND ...");
	if (!command && program->about) {
		roff_doc(output, "DESCRIPTION", program->about, false);
	} else if (argp) {
		roff_doc(output, "DESCRIPTION", argp->doc, false);
	}
	if (argp) {
		fputs(".SH OPTIONS\n", output);
		roff_options(output, argp);
		roff_doc(output, "NOTES", argp->doc, true);
	} else {
		roff_commands(output, program);
	}
	roff_exits(output, command && command->exits ? command->exits : program->exits);
	roff_examples(output, command ? command->examples : program->examples);
	roff_foot(output, program, command != NULL);
}

/* ---- completion ---- */

/* Candidate words go into arrays and are never expanded by the shell: job ids come from other
 * users. */

static void words_write(FILE *output, const char *(*word)(size_t index))
{
	const char *text;

	for (size_t i = 0; (text = word(i)); i++) {
		fprintf(output, " '%s'", text);
	}
}

static const struct hk_manual_values *values_of(const struct hk_manual_command *command,
						const char *option)
{
	for (const struct hk_manual_values *values = command->values; values && values->option;
	     values++) {
		if (strcmp(values->option, option) == 0) {
			return values;
		}
	}
	return NULL;
}

/* Whether ARGUMENT, an option's metavariable, contains WHAT, such as "FILE" or "JOB". */
static bool takes(const char *argument, const char *what)
{
	return argument && strstr(argument, what);
}

/* A line of the shell's `case` with the candidates for OPTION of COMMAND. */
static void value_write(FILE *output, const struct hk_manual_command *command,
			const struct argp_option *option)
{
	const struct hk_manual_values *values = values_of(command, option->name);

	fprintf(output, "\t'%s --%s'", command->name, option->name);
	if (has_letter(option)) {
		fprintf(output, "|'%s -%c'", command->name, option->key);
	}
	fputs(") values=(", output);
	if (values) {
		words_write(output, values->word);
	}
	fputs(")", output);
	if (takes(option->arg, "FILE") || takes(option->arg, "DIR")) {
		fputs(" files=1", output);
	}
	fputs(takes(option->arg, "JOB") ? " jobs=1 ;;\n" : " ;;\n", output);
}

static void values_write(FILE *output, const struct hk_manual_command *command,
			 const struct argp *argp)
{
	for (const struct argp_option *option = argp->options; option && !is_end(option);
	     option++) {
		if (is_shown(option) && option->arg) {
			value_write(output, command, option);
		}
	}
	for (const struct argp_child *child = argp->children; child && child->argp; child++) {
		values_write(output, command, child->argp);
	}
}

static void options_write(FILE *output, const struct argp *argp)
{
	for (const struct argp_option *option = argp->options; option && !is_end(option);
	     option++) {
		if (is_shown(option)) {
			fprintf(output, " '--%s%s'", option->name, option->arg ? "=" : "");
		}
	}
	for (const struct argp_child *child = argp->children; child && child->argp; child++) {
		options_write(output, child->argp);
	}
}

/* Lines of two `case`s of the shell: the options of COMMAND, and its other arguments. */
static void command_write(FILE *output, const struct hk_manual_command *command, bool options)
{
	const struct hk_manual_values *values = values_of(command, "");
	const char *arguments = command->argp->args_doc;

	fprintf(output, "\t%s) values=(", command->name);
	if (options) {
		fputs(" '--help'", output);
		options_write(output, command->argp);
	} else if (values) {
		words_write(output, values->word);
	}
	fputs(")", output);
	if (!options) {
		bool jobs = takes(arguments, "JOB"), programs = takes(arguments, "CMD");
		bool files = takes(arguments, "FILE") || jobs || programs;
		fprintf(output, "%s%s%s", jobs ? " jobs=1" : "", programs ? " programs=1" : "",
			files ? " files=1" : "");
	}
	fputs(" ;;\n", output);
}

static void completion_begin(const struct hk_manual_program *program, FILE *output)
{
	fprintf(
	    output,
	    "# bash completion of %s; zsh: autoload -U bashcompinit; bashcompinit; source this\n"
	    "_%s()\n{\n"
	    "\tlocal word=\"${COMP_WORDS[COMP_CWORD]}\" before=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
	    "\tlocal command=\"${COMP_WORDS[1]}\" option= prefix= jobs= programs= files= one\n"
	    "\tlocal -a values=()\n"
	    "\tCOMPREPLY=()\n"
	    /* Of --option=value bash makes three words. */
	    "\tif [ \"$word\" = = ]; then\n\t\toption=\"$before\" word=\n"
	    "\telif [ \"$before\" = = ]; then\n\t\toption=\"${COMP_WORDS[COMP_CWORD-2]}\"\n"
	    "\telif [ \"${before#-}\" != \"$before\" ]; then\n\t\toption=\"$before\"\n\tfi\n"
	    /* For zsh it is one. */
	    "\tcase \"$word\" in --*=*)\n"
	    "\t\toption=\"${word%%%%=*}\" prefix=\"${word%%%%=*}=\" word=\"${word#*=}\" ;;\n"
	    "\tesac\n",
	    program->name, program->name);
}

/* The words that fit, whatever they hold; with -o filenames bash puts quotes where needed. */
static void completion_end(const struct hk_manual_program *program, FILE *output)
{
	fprintf(
	    output,
	    "\t[ -z \"$jobs\" ] || while IFS= read -r one; do values+=(\"$one\"); done < <(%s ls "
	    "--ids 2>/dev/null)\n"
	    "\tfor one in \"${values[@]}\"; do\n"
	    "\t\t[ \"${one#\"$word\"}\" = \"$one\" ] && [ -n \"$word\" ] || "
	    "COMPREPLY+=(\"$prefix$one\")\n"
	    "\tdone\n"
	    "\t[ -z \"$files\" ] || while IFS= read -r one; do COMPREPLY+=(\"$prefix$one\"); done "
	    "< "
	    "<(compgen -f -- \"$word\")\n"
	    "\t[ -z \"$programs\" ] || [ -z \"$word\" ] || while IFS= read -r one; do "
	    "COMPREPLY+=(\"$one\"); done < <(compgen -c -- \"$word\")\n"
	    "\t[ \"${COMPREPLY[0]%%=}\" = \"${COMPREPLY[0]}\" ] || "
	    "! type compopt >/dev/null 2>&1 || compopt -o nospace\n"
	    "}\n"
	    "complete -o filenames -F _%s %s\n",
	    program->name, program->name, program->name);
}

void hk_manual_write_completion(const struct hk_manual_program *program, FILE *output)
{
	completion_begin(program, output);
	fputs("\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n\t\tvalues=(", output);
	for (size_t i = 0; i < program->command_count; i++) {
		fprintf(output, "%s ", program->commands[i]->name);
	}
	fputs("--help --version)\n\telse\n\tcase \"$command $option\" in\n", output);
	for (size_t i = 0; i < program->command_count; i++) {
		values_write(output, program->commands[i], program->commands[i]->argp);
	}
	/* An option without a value, or none. */
	fputs("\t*) option= ;;\n\tesac\n"
	      "\tif [ -n \"$option\" ]; then\n\t\t:\n"
	      "\telif [ \"${word#-}\" != \"$word\" ]; then\n\tcase \"$command\" in\n",
	      output);
	for (size_t i = 0; i < program->command_count; i++) {
		command_write(output, program->commands[i], true);
	}
	fputs("\tesac\n\telse\n\tcase \"$command\" in\n", output);
	for (size_t i = 0; i < program->command_count; i++) {
		command_write(output, program->commands[i], false);
	}
	fputs("\tesac\n\tfi\n\tfi\n", output);
	completion_end(program, output);
}
