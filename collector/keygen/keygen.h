/* keygen.h: `hookcollector keygen DIR [NAME...]`: makes the files that a root needs for other
 * machines, once.
 *
 * It makes a key, a self-signed certificate for this machine's names and the given ones, and two
 * tokens. It overwrites no file.
 */
#ifndef HK_COLLECTOR_KEYGEN_KEYGEN_H
#define HK_COLLECTOR_KEYGEN_KEYGEN_H

#define HK_KEYGEN_WORD "keygen"

/* Parses its command line, makes the files and prints the commands that use them. Returns the exit
 * status. */
int hk_keygen_main(int argc, char **argv);

#endif
