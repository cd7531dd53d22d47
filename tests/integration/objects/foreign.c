/* Prints its arguments and leaves with 7, in whatever libc it is linked with. */
#include <stdio.h>

#ifdef INSIDE
/* A function that is hooked by name, linked into the program. */
__attribute__((noinline, used)) int MPI_Barrier(int comm)
{
	return comm;
}
#endif

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		puts(argv[i]);
	}
	return 7;
}
