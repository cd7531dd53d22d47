/* command.h: `hookcollector stream setup|status URL`. */
#ifndef HK_COLLECTOR_ENGINE_COMMAND_H
#define HK_COLLECTOR_ENGINE_COMMAND_H

#define HK_STREAM_WORD "stream"

/* ARGV[1] is "setup" or "status". Returns the exit status: 0, 1 if the engine does not do it, 2 for
 * wrong usage. */
int hk_stream_main(int argc, char **argv);

#endif
