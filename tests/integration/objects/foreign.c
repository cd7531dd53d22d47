/* Prints its arguments and leaves with 7, in whatever libc it is linked with. */
#include <stdio.h>

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		puts(argv[i]);
	}
	return 7;
}
