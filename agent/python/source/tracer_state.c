#include "tracer_state.h"

struct hk_tracer hk_tracer = {.extra = -1};
