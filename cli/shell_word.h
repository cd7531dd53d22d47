/* shell_word.h: writes text as one word for a shell or for YAML. No state. */
#ifndef HK_CLI_SHELL_WORD_H
#define HK_CLI_SHELL_WORD_H

/* Writes TEXT to standard output so that sh(1) reads it as one word; quoted only where it must be.
 */
void hk_shell_word_print(const char *text);

/* Writes TEXT between single quotes to standard output. ESCAPED replaces a quote inside: '\'' for a
 * shell, '' for YAML. */
void hk_shell_word_quote(const char *text, const char *escaped);

#endif
