#ifndef CHANGES_LIBRARY_H
#define CHANGES_LIBRARY_H

struct changes_calls {
	unsigned number, half, third, place, sum;
};
extern struct changes_calls changes_calls;

int changes_number(int x);
double changes_half(double x);
float changes_third(float x);
void *changes_place(void);
long changes_sum(long a, long b, long c, long d, long e, long f, long g, long h);

#endif
