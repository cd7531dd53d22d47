/* Calls the library itself, through two others and through an address that it looks up; says what
 * it got, and how often the library was really called. */
#include <dlfcn.h>
#include <stdio.h>

#include "library.h"

int left(unsigned times);
int right(unsigned times);

int main(void)
{
	int sum = 0;
	for (int i = 0; i < 5; i++) {
		sum += changes_number(i);
	}
	double (*half)(double) = (double (*)(double))dlsym(RTLD_DEFAULT, "changes_half");
	printf("number %d left %d right %d\n", sum, left(10), right(20));
	printf("half %g %g third %g\n", changes_half(3), half(5), (double)changes_third(3));
	printf("place %s\n", changes_place() == &changes_calls ? "known" : "other");
	printf("sum %ld\n", changes_sum(1, 2, 3, 4, 5, 6, 7, 8));
	printf("called %u %u %u %u %u\n", changes_calls.number, changes_calls.half,
	       changes_calls.third, changes_calls.place, changes_calls.sum);
	return 7;
}
