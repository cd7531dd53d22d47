/*
 * The parts of mpi_truth that live in other objects: a linked library and a plugin that is opened
 * by path at run time. Each books its own calls in a table of its own. Called by one thread per
 * rank, all ranks alike.
 */
#ifndef HK_WORKLOADS_MPI_TRUTH_H
#define HK_WORKLOADS_MPI_TRUTH_H

#include <mpi.h>

#include "truth.h"

#define MPI_TRUTH_PUBLIC __attribute__((visibility("default")))

/* Point-to-point and reductions, `rounds` times each. */
MPI_TRUTH_PUBLIC void mpi_truth_library_run(MPI_Comm comm, int rounds);
MPI_TRUTH_PUBLIC const struct truth_table *mpi_truth_library_table(void);

/* Calls that wait about 3 ms for a late rank; align() brings all ranks together first. Found by
 * dlsym. */
typedef void mpi_truth_plugin_run_fn(MPI_Comm comm, int rounds, void (*align)(MPI_Comm comm));
MPI_TRUTH_PUBLIC mpi_truth_plugin_run_fn mpi_truth_plugin_run;
typedef const struct truth_table *mpi_truth_plugin_table_fn(void);
MPI_TRUTH_PUBLIC mpi_truth_plugin_table_fn mpi_truth_plugin_table;

#endif
