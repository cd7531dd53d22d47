/* room.h: what collector and cli need of a process to run at all, under low limits: a deep stack,
 * threads. The agent never uses it.
 */
#ifndef HK_BASE_ROOM_H
#define HK_BASE_ROOM_H

/* Runs PROGRAM with ARGC and ARGV and returns what it returns. PROGRAM has 1 MiB of stack at least,
 * whatever ulimit -s says, and each thread that it makes has 1 MiB unless it asks for more. Once
 * per process. */
int hk_room_main(int (*program)(int argc, char **argv), int argc, char **argv);

/* Whether NNG can start its threads: it hangs for ever where it cannot. Any thread. 0; -EAGAIN: a
 * limit of the process, or what is left of it, does not let that many threads be. */
int hk_room_threads(void);

#endif
