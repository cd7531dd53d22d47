/* symbol_reader.h: the process that reads symbols for a collector: `hookcollector read-symbols`.
 *
 * Files may be huge, on a slow disk, or made to crash their readers, so they are read in a process
 * of their own. It takes requests from its standard input, a socket of the collector's, and ends
 * with it. One thread.
 */
#ifndef HK_COLLECTOR_SYMBOL_SYMBOL_READER_H
#define HK_COLLECTOR_SYMBOL_SYMBOL_READER_H

#define HK_SYMBOL_READER_WORD "read-symbols"
#define HK_SYMBOL_READER_MESSAGE_BYTES (128u << 10) /* of a request and of a reply */

/* Handles requests until the collector is gone or asks for nothing for a while. Returns the exit
 * status. */
int hk_symbol_reader_main(void);

#endif
