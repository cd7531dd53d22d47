/*
 * Ranges and marks by NVTX 3, whose numbers test_nvtx.py knows: ROUNDS times each of them, on two
 * threads. Prints a word for each value that NVTX returned wrongly. Without an injection library
 * NVTX returns 0 or less from everything.
 */
#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <wchar.h>

#include "nvtx_truth.h"

#define ROUNDS 50

static nvtxDomainHandle_t domain, other;
static nvtxStringHandle_t string, wide_string;
static int expected; /* whether an injection library is there */

static void expect(int holds, const char *what)
{
	if (expected && !holds) {
		printf("wrong: %s\n", what);
	}
}

static nvtxEventAttributes_t event_of(int type, const void *message)
{
	nvtxEventAttributes_t event = {0};

	event.version = NVTX_VERSION;
	event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	event.messageType = type;
	event.message.ascii = message;
	return event;
}

static void nested(void)
{
	nvtxEventAttributes_t ascii = event_of(NVTX_MESSAGE_TYPE_ASCII, "by attributes");
	nvtxEventAttributes_t wide = event_of(NVTX_MESSAGE_TYPE_UNICODE, L"w\u00efde");
	nvtxEventAttributes_t registered = event_of(NVTX_MESSAGE_TYPE_REGISTERED, string);

	expect(nvtxRangePushA("outer") == 0, "depth of the first range");
	expect(nvtxRangePushW(L"wide \u03bb") == 1, "depth of the second range");
	expect(nvtxRangePushEx(&ascii) == 2, "depth of the third range");
	expect(nvtxDomainRangePushEx(domain, &registered) == 0, "depth in a domain of its own");
	expect(nvtxDomainRangePushEx(domain, &wide) == 1, "depth in the domain");
	expect(nvtxRangePop() == 2, "end of the third range, below those of a domain");
	expect(nvtxDomainRangePop(domain) == 1, "end of the domain's second range");
	expect(nvtxDomainRangePop(domain) == 0, "end of the domain's first range");
	expect(nvtxRangePop() == 1, "end of the second range");
	expect(nvtxRangePop() == 0, "end of the first range");
	expect(nvtxRangePop() < 0, "end of no range");
}

static void marks(void)
{
	nvtxEventAttributes_t ascii = event_of(NVTX_MESSAGE_TYPE_ASCII, "mark by attributes");
	nvtxEventAttributes_t registered = event_of(NVTX_MESSAGE_TYPE_REGISTERED, wide_string);
	nvtxEventAttributes_t none = event_of(0, NULL);

	nvtxMarkA("mark");
	nvtxMarkW(L"wide mark");
	nvtxMarkEx(&ascii);
	nvtxDomainMarkEx(other, &registered);
	nvtxMarkEx(&none);
}

static void *end_there(void *id)
{
	nvtxRangeEnd(*(nvtxRangeId_t *)id);
	return NULL;
}

static void across(void)
{
	nvtxEventAttributes_t ascii = event_of(NVTX_MESSAGE_TYPE_ASCII, "process range");
	nvtxRangeId_t first = nvtxRangeStartA("started");
	nvtxRangeId_t second = nvtxDomainRangeStartEx(domain, &ascii);
	pthread_t thread;

	expect(first && second && first != second, "numbers of ranges of the process");
	pthread_create(&thread, NULL, end_there, &first);
	pthread_join(thread, NULL);
	nvtxDomainRangeEnd(domain, second);
	nvtxRangeEnd(first); /* again: nothing */
}

static void *rounds(void *unused)
{
	for (int i = 0; i < ROUNDS; i++) {
		nested();
		marks();
	}
	return unused;
}

int main(void)
{
	pthread_t thread;

	expected = getenv("NVTX_INJECTION64_PATH") != NULL;
	domain = nvtxDomainCreateA("NCCL");
	other = nvtxDomainCreateA("other");
	string = nvtxDomainRegisterStringA(domain, "registered");
	wide_string = nvtxDomainRegisterStringW(other, L"registered wide");
	expect(domain && other && domain != other && string && wide_string, "handles");
	expect(nvtxDomainCreateA("NCCL") == domain, "a domain of the same name");
	rounds(NULL);
	pthread_create(&thread, NULL, rounds, NULL);
	pthread_join(thread, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		across();
	}
	nvtxDomainDestroy(other);
	return 0;
}
