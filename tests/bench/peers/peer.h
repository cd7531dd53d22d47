/* The loops that a peer program (peer.c) runs when told. Each program has one table of its own. */
#ifndef HK_TESTS_BENCH_PEER_H
#define HK_TESTS_BENCH_PEER_H

struct peer_loop {
	const char *name;
	void (*run)(long calls);
};

/* Ends with a NULL name. */
extern const struct peer_loop peer_loops[];

#endif
