/*
 * NVTX 3 as a program uses it: with the real header where it is (NVTX_HEADER), else by what that
 * header does: a table of function pointers per module, filled by the library that
 * NVTX_INJECTION64_PATH names.
 */
#ifndef HK_WORKLOADS_NVTX_TRUTH_H
#define HK_WORKLOADS_NVTX_TRUTH_H

#ifdef NVTX_HEADER
#include <nvtx3/nvToolsExt.h>
#else
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

typedef uint64_t nvtxRangeId_t;
typedef void *nvtxDomainHandle_t, *nvtxStringHandle_t;
typedef struct {
	uint16_t version, size;
	uint32_t category;
	int32_t colorType;
	uint32_t color;
	int32_t payloadType, reserved0;
	union {
		uint64_t ullValue;
	} payload;
	int32_t messageType;
	union {
		const char *ascii;
		const wchar_t *unicode;
		nvtxStringHandle_t registered;
	} message;
} nvtxEventAttributes_t;
#define NVTX_VERSION 3
#define NVTX_EVENT_ATTRIB_STRUCT_SIZE ((uint16_t)sizeof(nvtxEventAttributes_t))
#define NVTX_MESSAGE_TYPE_ASCII 1
#define NVTX_MESSAGE_TYPE_UNICODE 2
#define NVTX_MESSAGE_TYPE_REGISTERED 3

typedef void (*nvtx_function)(void);
static nvtx_function nvtx_core[16], nvtx_core2[16];
static nvtx_function *nvtx_core_table[17], *nvtx_core2_table[17];

static int nvtx_module(int module, nvtx_function ***table, unsigned *size)
{
	*table = module == 1 ? nvtx_core_table : module == 5 ? nvtx_core2_table : NULL;
	*size = 16;
	return *table != NULL;
}

static const void *nvtx_export(uint32_t table)
{
	static const struct {
		size_t bytes;
		int (*module)(int, nvtx_function ***, unsigned *);
	} callbacks = {sizeof(callbacks), nvtx_module};

	return table == 1 ? &callbacks : NULL;
}

/* As the header's first call of any function. */
__attribute__((constructor)) static void nvtx_begin(void)
{
	const char *path = getenv("NVTX_INJECTION64_PATH");
	void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
	int (*inject)(const void *(*)(uint32_t)) =
	    library ? (int (*)(const void *(*)(uint32_t)))dlsym(library, "InitializeInjectionNvtx2")
		    : NULL;

	for (int i = 0; i < 16; i++) {
		nvtx_core_table[i] = &nvtx_core[i];
		nvtx_core2_table[i] = &nvtx_core2[i];
	}
	if (!inject || !inject(nvtx_export)) {
		memset(nvtx_core, 0, sizeof(nvtx_core));
		memset(nvtx_core2, 0, sizeof(nvtx_core2));
	}
}

#define NVTX_CALL(table, id, result, type, ...)                           \
	do {                                                              \
		nvtx_function function = table[id];                       \
		return function ? ((type)function)(__VA_ARGS__) : result; \
	} while (0)
#define NVTX_VOID(table, id, type, ...)                \
	do {                                           \
		nvtx_function function = table[id];    \
		if (function) {                        \
			((type)function)(__VA_ARGS__); \
		}                                      \
	} while (0)

static inline void nvtxMarkEx(const nvtxEventAttributes_t *e)
{
	NVTX_VOID(nvtx_core, 1, void (*)(const nvtxEventAttributes_t *), e);
}
static inline void nvtxMarkA(const char *m)
{
	NVTX_VOID(nvtx_core, 2, void (*)(const char *), m);
}
static inline void nvtxMarkW(const wchar_t *m)
{
	NVTX_VOID(nvtx_core, 3, void (*)(const wchar_t *), m);
}
static inline nvtxRangeId_t nvtxRangeStartA(const char *m)
{
	NVTX_CALL(nvtx_core, 5, 0, nvtxRangeId_t(*)(const char *), m);
}
static inline void nvtxRangeEnd(nvtxRangeId_t id)
{
	NVTX_VOID(nvtx_core, 7, void (*)(nvtxRangeId_t), id);
}
static inline int nvtxRangePushEx(const nvtxEventAttributes_t *e)
{
	NVTX_CALL(nvtx_core, 8, -1, int (*)(const nvtxEventAttributes_t *), e);
}
static inline int nvtxRangePushA(const char *m)
{
	NVTX_CALL(nvtx_core, 9, -1, int (*)(const char *), m);
}
static inline int nvtxRangePushW(const wchar_t *m)
{
	NVTX_CALL(nvtx_core, 10, -1, int (*)(const wchar_t *), m);
}
static inline int nvtxRangePop(void)
{
	NVTX_CALL(nvtx_core, 11, -1, int (*)(void));
}
static inline void nvtxDomainMarkEx(nvtxDomainHandle_t d, const nvtxEventAttributes_t *e)
{
	NVTX_VOID(nvtx_core2, 1, void (*)(nvtxDomainHandle_t, const nvtxEventAttributes_t *), d, e);
}
static inline nvtxRangeId_t nvtxDomainRangeStartEx(nvtxDomainHandle_t d,
						   const nvtxEventAttributes_t *e)
{
	NVTX_CALL(nvtx_core2, 2, 0,
		  nvtxRangeId_t(*)(nvtxDomainHandle_t, const nvtxEventAttributes_t *), d, e);
}
static inline void nvtxDomainRangeEnd(nvtxDomainHandle_t d, nvtxRangeId_t id)
{
	NVTX_VOID(nvtx_core2, 3, void (*)(nvtxDomainHandle_t, nvtxRangeId_t), d, id);
}
static inline int nvtxDomainRangePushEx(nvtxDomainHandle_t d, const nvtxEventAttributes_t *e)
{
	NVTX_CALL(nvtx_core2, 4, -1, int (*)(nvtxDomainHandle_t, const nvtxEventAttributes_t *), d,
		  e);
}
static inline int nvtxDomainRangePop(nvtxDomainHandle_t d)
{
	NVTX_CALL(nvtx_core2, 5, -1, int (*)(nvtxDomainHandle_t), d);
}
static inline nvtxStringHandle_t nvtxDomainRegisterStringA(nvtxDomainHandle_t d, const char *m)
{
	NVTX_CALL(nvtx_core2, 10, NULL, nvtxStringHandle_t(*)(nvtxDomainHandle_t, const char *), d,
		  m);
}
static inline nvtxStringHandle_t nvtxDomainRegisterStringW(nvtxDomainHandle_t d, const wchar_t *m)
{
	NVTX_CALL(nvtx_core2, 11, NULL, nvtxStringHandle_t(*)(nvtxDomainHandle_t, const wchar_t *),
		  d, m);
}
static inline nvtxDomainHandle_t nvtxDomainCreateA(const char *m)
{
	NVTX_CALL(nvtx_core2, 12, NULL, nvtxDomainHandle_t(*)(const char *), m);
}
static inline void nvtxDomainDestroy(nvtxDomainHandle_t d)
{
	NVTX_VOID(nvtx_core2, 14, void (*)(nvtxDomainHandle_t), d);
}
#endif

#endif
