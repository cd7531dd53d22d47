/* starts_target: what starts starts. */
#include <string.h>

int main(int count, char **words)
{
	return 50 + (count == 4 && strcmp(words[3], "three") == 0 ? count - 1 : 0);
}
