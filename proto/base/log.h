/* log.h: one line on stderr for collector and cli: "hookcollector: message key=value". The agent
 * never uses it. Thread-safe (one write per line). Level from the program's own settings; nothing
 * is printed above it.
 */
#ifndef HK_BASE_LOG_H
#define HK_BASE_LOG_H

enum hk_log_level { HK_LOG_ERROR = 0, HK_LOG_WARNING = 1, HK_LOG_INFO = 2, HK_LOG_DEBUG = 3 };

/* PROGRAM is kept by reference. */
void hk_log_setup(const char *program, enum hk_log_level level);
__attribute__((format(printf, 2, 3))) void hk_log(enum hk_log_level level, const char *format, ...);

#define hk_error(...) hk_log(HK_LOG_ERROR, __VA_ARGS__)
#define hk_warning(...) hk_log(HK_LOG_WARNING, __VA_ARGS__)
#define hk_info(...) hk_log(HK_LOG_INFO, __VA_ARGS__)
#define hk_debug(...) hk_log(HK_LOG_DEBUG, __VA_ARGS__)

#endif
