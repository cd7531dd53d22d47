/* keygen.h: `hookcollector keygen DIR [NAME...]`: what a root needs to be reached by others, made
 * once.
 *
 * A key with a certificate of its own signature, for this machine's names and those given, and two
 * tokens; nothing is ever overwritten.
 */
#ifndef HK_COLLECTOR_KEYGEN_KEYGEN_H
#define HK_COLLECTOR_KEYGEN_KEYGEN_H

#define HK_KEYGEN_WORD "keygen"

/* Parses its command line, makes the files and prints the lines that use them; the exit status. */
int hk_keygen_main(int argc, char **argv);

#endif
