/* The functions that bench_call calls through its PLT: as short as a function can be, one per
 * level, and many of one kind. */
#define TARGET(name)                                                    \
	__attribute__((visibility("default"), noinline)) int name(void) \
	{                                                               \
		__asm__ volatile("");                                   \
		return 0;                                               \
	}

TARGET(bench_plain)
TARGET(bench_off)
TARGET(bench_count)
TARGET(bench_sample)
TARGET(bench_time)
TARGET(bench_record)
TARGET(bench_ordered)
TARGET(bench_unknown)

#define TARGET4(p) TARGET(p##0) TARGET(p##1) TARGET(p##2) TARGET(p##3)
#define TARGET16(p) TARGET4(p##0) TARGET4(p##1) TARGET4(p##2) TARGET4(p##3)
#define TARGET64(p) TARGET16(p##0) TARGET16(p##1) TARGET16(p##2) TARGET16(p##3)
#define TARGET256(p) TARGET64(p##0) TARGET64(p##1) TARGET64(p##2) TARGET64(p##3)
#define TARGET1024(p) TARGET256(p##0) TARGET256(p##1) TARGET256(p##2) TARGET256(p##3)
TARGET1024(bench_many_)
TARGET1024(bench_wide_)
