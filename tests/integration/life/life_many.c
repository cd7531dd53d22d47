/* A library with a thousand slots of hooked functions, its own, which are never called. */
#define TEN(use, n)                                                                               \
	use(n##0) use(n##1) use(n##2) use(n##3) use(n##4) use(n##5) use(n##6) use(n##7) use(n##8) \
	    use(n##9)
#define HUNDRED(use, n) \
	TEN(use, n##0)  \
	TEN(use, n##1)  \
	TEN(use, n##2)  \
	TEN(use, n##3)  \
	TEN(use, n##4) TEN(use, n##5) TEN(use, n##6) TEN(use, n##7) TEN(use, n##8) TEN(use, n##9)
#define THOUSAND(use)   \
	HUNDRED(use, 0) \
	HUNDRED(use, 1) \
	HUNDRED(use, 2) \
	HUNDRED(use, 3) \
	HUNDRED(use, 4) \
	HUNDRED(use, 5) HUNDRED(use, 6) HUNDRED(use, 7) HUNDRED(use, 8) HUNDRED(use, 9)
#define DECLARE(n) void life_many_##n(void);
#define DEFINE(n)                \
	void life_many_##n(void) \
	{                        \
	}
#define CALL(n) life_many_##n();

#pragma GCC visibility push(default)
THOUSAND(DECLARE)
void many(void);

THOUSAND(DEFINE)

void many(void)
{
	THOUSAND(CALL)
}
#pragma GCC visibility pop
