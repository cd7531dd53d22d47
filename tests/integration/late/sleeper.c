/* sleeper: a program without libraries that waits for the end of its input. */
#include <unistd.h>

int main(void)
{
	char byte;
	while (read(0, &byte, 1) > 0) {
	}
	return 0;
}
