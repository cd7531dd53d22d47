/* throws.h: functions that are left by exceptions; throws.cc calls each a known number of times. */
#ifndef HK_TESTS_THROWS_H
#define HK_TESTS_THROWS_H

extern "C" {
int throws_plain(int value);
int throws_value(int value);			  /* throws VALUE */
int throws_object(const char *text);		  /* throws a std::runtime_error */
int throws_call(int (*function)(int), int value); /* returns what FUNCTION returns, and 1 */
int throws_inside(int value);			  /* catches what it throws by throws_value */
int throws_never(int (*function)(int), int value) noexcept;
}

#endif
