/* Tutorial: compare two builds. With -DSAFE every entry is flushed to the disk. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int main(void)
{
	static const char entry[] = "an entry of the journal\n";
	int file = open("journal", O_WRONLY | O_CREAT | O_TRUNC, 0600);

	for (int i = 0; i < 500; i++) {
		if (write(file, entry, sizeof(entry) - 1) < 0) {
			return EXIT_FAILURE;
		}
#ifdef SAFE
		fsync(file);
#endif
	}
	return close(file) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
