/* unwinders: counts the frames above one function by each unwinder that the machine has, and
 * switches stacks by Boost.Context; prints the numbers. */
#include <dlfcn.h>
#include <execinfo.h>
#include <stdio.h>

#define MOST 64
#define SWITCHES 100
#define NAME_BYTES 64
#define STACK_BYTES 65536

/* Both are larger than any library's. */
struct context {
	_Alignas(16) char bytes[8192];
};

struct cursor {
	_Alignas(16) char bytes[8192];
};

typedef int get_context(struct context *context);
typedef int init_local(struct cursor *cursor, struct context *context);
typedef int step(struct cursor *cursor);
typedef int walk(void **frames, int most);

static get_context *get;
static init_local *init;
static step *next;
static walk *walk_all;
static void *library;

static void *find(const char *start, const char *name)
{
	char symbol[NAME_BYTES];
	snprintf(symbol, sizeof(symbol), "%s%s", start, name);
	return dlsym(library, symbol);
}

/* The library's functions look at the stack above this one. */
static __attribute__((noinline)) int count_frames(void)
{
	struct context context;
	struct cursor cursor;
	int count = 1;
	get(&context);
	init(&cursor, &context);
	while (count < MOST && next(&cursor) > 0) {
		count++;
	}
	return count;
}

static __attribute__((noinline)) int count_walked(void)
{
	void *frames[MOST];
	int count = walk_all(frames, MOST);
	return count;
}

static __attribute__((noinline)) int count_below(int depth, int (*count)(void))
{
	volatile char room[100];
	room[0] = 1;
	int frames = depth == 0 ? count() : count_below(depth - 1, count);
	return frames + room[0] - 1;
}

static void count_each(const char *name, const char *context_prefix, const char *step_prefix)
{
	library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		printf("%s: absent\n", name);
		return;
	}
	get = (get_context *)find(context_prefix, "getcontext");
	init = (init_local *)find(step_prefix, "init_local");
	next = (step *)find(step_prefix, "step");
	printf("%s: getcontext %d", name, count_below(5, count_frames));
	walk_all = (walk *)find("unw_", "backtrace");
	if (walk_all) {
		printf(", backtrace %d", count_below(5, count_walked));
	}
	printf("\n");
}

struct transfer {
	void *context, *data;
};

typedef struct transfer jump(void *to, void *data);
typedef void *make(void *top, size_t bytes, void (*function)(struct transfer));

static jump *jump_to;

static void add_up(struct transfer from)
{
	long sum = 0;
	for (;;) {
		sum += (long)from.data;
		from = jump_to(from.context, (void *)sum);
	}
}

static void switch_stacks(void)
{
	static _Alignas(64) char stack[STACK_BYTES];
	library = dlopen("libboost_context.so.1.74.0", RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		printf("Boost.Context: absent\n");
		return;
	}
	make *make_context = (make *)find("make_", "fcontext");
	jump_to = (jump *)find("jump_", "fcontext");
	struct transfer other = {make_context(stack + sizeof(stack), sizeof(stack), add_up), NULL};
	for (long i = 1; i <= SWITCHES; i++) {
		other = jump_to(other.context, (void *)i);
	}
	printf("Boost.Context: %ld\n", (long)other.data);
}

int main(void)
{
#if defined(__aarch64__)
	count_each("libunwind.so.8", "_Uaarch64_", "_ULaarch64_");
#else
	count_each("libunwind.so.8", "_Ux86_64_", "_ULx86_64_");
#endif
	count_each("libunwind.so.1", "unw_", "unw_");
	walk_all = backtrace;
	printf("libc: backtrace %d\n", count_below(5, count_walked));
	switch_stacks();
	return 0;
}
