/* Calls whose arguments are known. test_arguments.py holds them against the exports. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arguments.h"

static const char long_text[] =
    "a text that is longer than what a record keeps of one, which is sixty-three bytes";

/* A text that ends where the memory does, and one that runs into what cannot be read. */
static int at_the_edge(void)
{
	long page = sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, 2 * (size_t)page, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED || mprotect(pages + page, (size_t)page, PROT_NONE) != 0) {
		return -1;
	}
	memcpy(pages + page - 5, "edge", 5);
	arguments_text(pages + page - 5);
	memcpy(pages + page - 5, "beyon", 5);
	arguments_text(pages + page - 5);
	arguments_text(pages + page);
	/* Good, nowhere, and half beyond. */
	long words[3] = {7, 8, 9};
	arguments_follow(words, words + 1, words);
	arguments_follow(NULL, NULL, NULL);
	arguments_follow((void *)3, (void *)3, (void *)3);
	arguments_follow((void *)-1, (void *)-1, (void *)-1);
	arguments_follow(pages + page, pages + page, pages + page);
	arguments_follow(pages + page - 2, pages + page - 4, pages + page - 12);
	memcpy(pages + page - 3, "odd", 3);
	return arguments_pointee((unsigned *)(void *)(pages + page - 2), NULL, NULL);
}

static const char *longest_text(void)
{
	static char text[301];

	memset(text, 'n', sizeof(text) - 1);
	return text;
}

/* Sound arrays; none; and a count that no array has. */
static void sums(void)
{
	const unsigned long sizes[] = {1, 20, 300};
	const struct arguments_box boxes[] = {{0, 2, 3, 4}, {99, 5, 6, 7}, {99, 1, 1, 1}};

	printf("%d\n", arguments_sums(sizes, boxes, 3));
	arguments_sums(sizes, boxes, 0);
	arguments_sums(NULL, NULL, 3);
	arguments_sums((void *)3, (void *)3, 3);
	arguments_sums(sizes, boxes, UINT_MAX);
	arguments_sums(sizes, boxes, 1u << 20); /* runs into what cannot be read */
}

int main(void)
{
	unsigned count = 7;
	double ratio = -0.5;
	char *bad = (char *)0xdead0;

	setvbuf(stdout, NULL, _IONBF, 0); /* what comes between its lines comes there */
	printf("%g\n", arguments_mixed(-3, 1.5, 2.25f, "hello \"w\"\n", -99999999999L, &count,
				       &ratio, bad, 9, 1e30, -7.5f, UINT_MAX));
	printf("%u\n", count);
	printf("%g\n", (double)arguments_half(5.0f));
	struct arguments_large large = {{100, [3] = 20, [15] = 3}};
	printf("%g\n", arguments_wide(large, large, large, 2.5, 4));
	printf("%s\n", arguments_name(3));
	printf("%d\n", arguments_name(4) == NULL);
	arguments_text(long_text);
	arguments_text("");
	arguments_text(NULL);
	arguments_text("63 bytes: a text of just so many is whole, and not marked as c.");
	printf("%d\n", at_the_edge());
	errno = 33;
	printf("%ld\n", arguments_unknown(5, -6));
	printf("%d\n", errno);
	printf("%d\n", arguments_shapes(NULL, (struct arguments_shape){1, 2, 3},
					(struct arguments_shape){4, 5, 6},
					(struct arguments_shape){7, 8, 9}, -1,
					(struct arguments_shape){UINT_MAX, 11, 12}));
	arguments_long(long_text, 1);
	arguments_long(longest_text(), 2);
	arguments_long("", 3);
	arguments_long(NULL, 4);
	sums();
	arguments_words("one", "two", "three", "four",
			"a fifth text that finds less and less room before it",
			"a sixth text that finds less and less room before it",
			"a seventh text that finds less and less room before it",
			"an eighth text that finds less and less room before it");
	return 0;
}
