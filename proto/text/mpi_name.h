/* mpi_name.h: the name of a function of MPI, whatever the language of its caller. Pure functions,
 * any thread. */
#ifndef HK_TEXT_MPI_NAME_H
#define HK_TEXT_MPI_NAME_H

#include <stdbool.h>

#define HK_MPI_NAME_BYTES 32u

/* Copies FUNCTION to NAME in lower case, without "MPI_" and what Fortran adds ("_", "_f08_"), cut
 * if it is longer. Returns whether it is a function of MPI; if not, NAME is empty. */
bool hk_mpi_name(const char *function, char name[HK_MPI_NAME_BYTES]);

#endif
