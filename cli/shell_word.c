#include "cli/shell_word.h"

#include <stdio.h>
#include <string.h>

void hk_shell_word_quote(const char *text, const char *escaped)
{
	putchar('\'');
	for (; *text; text++) {
		if (*text == '\'') {
			fputs(escaped, stdout);
		} else {
			putchar(*text);
		}
	}
	putchar('\'');
}

void hk_shell_word_print(const char *text)
{
	if (text[strcspn(text, " \t\n'\"\\$`*?[]{}()<>|&;!#~")] || !*text) {
		hk_shell_word_quote(text, "'\\''");
	} else {
		fputs(text, stdout);
	}
}
