/* What the compiler's start files define and the agent asks for. */
extern void *const __dso_handle;
__attribute__((visibility("hidden"))) void *const __dso_handle = (void *)&__dso_handle;
