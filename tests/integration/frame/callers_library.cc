/* A function that writes to standard error from where it is called: by glibc's backtrace(), dladdr() and the C++ library's
 * demangler, in cuda_mock's form. Frames of hooktrace's agent do not count. */
#include "callers.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>

#define FRAMES 128

static int is_agent(struct dl_phdr_info *info, size_t, void *data)
{
	const uintptr_t *address = static_cast<const uintptr_t *>(data);

	for (int i = 0; i < info->dlpi_phnum; i++) {
		uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
		if (info->dlpi_phdr[i].p_type == PT_LOAD && *address >= start &&
		    *address - start < info->dlpi_phdr[i].p_memsz) {
			return std::strstr(info->dlpi_name, "libhookagent.so") ? 1 : 2;
		}
	}
	return 0;
}

/* An address behind a call may be the next function's, but not where a signal came. */
extern "C" int callers_note(int behind_signal, int demangled)
{
	void *frames[FRAMES];
	int count = backtrace(frames, FRAMES), number = 0;

	for (int i = 1; i < count; i++) {
		uintptr_t address = reinterpret_cast<uintptr_t>(frames[i]) - (number != behind_signal);
		Dl_info info = {};
		if (dl_iterate_phdr(is_agent, &address) == 1) {
			continue;
		}
		if (dladdr(reinterpret_cast<void *>(address), &info) && info.dli_sname) {
			int status = -1;
			char *spelled = demangled ? abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status) : nullptr;
			std::fprintf(stderr, "    frame #%2d %s:%s\n", number, info.dli_fname, status == 0 ? spelled : info.dli_sname);
			std::free(spelled);
		}
		number++;
	}
	return number;
}
