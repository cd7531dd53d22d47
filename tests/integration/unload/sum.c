/* One name, two functions. */
#if ARGUMENTS == 6
int unload_sum(int a, int b, int c, int d, int e, int f);

int unload_sum(int a, int b, int c, int d, int e, int f)
{
	return a + b + c + d + e + f;
}
#else
int unload_sum(int a, int b, int c, int d, int e, int f, int g, int h);

int unload_sum(int a, int b, int c, int d, int e, int f, int g, int h)
{
	return a + b + c + d + e + f + 10 * g + 100 * h;
}
#endif
