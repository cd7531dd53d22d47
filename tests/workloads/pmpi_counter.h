/*
 * An MPI tool that has nothing to do with hooktrace, to check it against: it is preloaded, takes
 * MPI_* and calls PMPI_*. Counts every call a program makes and the time of the outermost ones. At
 * MPI_Finalize it writes $PMPI_COUNTER_DIR/pmpi-<rank>.json. Calls out of several threads are
 * counted exactly.
 */
#ifndef HK_WORKLOADS_PMPI_COUNTER_H
#define HK_WORKLOADS_PMPI_COUNTER_H

#define PMPI_INIT 0
#define PMPI_INIT_THREAD 1
#define PMPI_FINALIZE 2
#define PMPI_MAX 512

/* Generated: the names by number, the three above first. */
extern const char *const pmpi_names[];
extern const unsigned pmpi_count;

/* Before a call: its start in ns, for pmpi_leave. */
unsigned long long pmpi_enter(unsigned number);
/* After the call: books it. */
void pmpi_leave(unsigned number, unsigned long long start_ns);

#endif
