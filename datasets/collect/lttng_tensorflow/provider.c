/* Functions that Python calls through ctypes; each is one tracepoint. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "provider.h"

void dfsim_operation_start(const char* placement, const char* name) {
  lttng_ust_tracepoint(tensorflowTracer, operation_start, "tf_operation", placement, name);
}

void dfsim_operation_end(const char* placement, const char* name) {
  lttng_ust_tracepoint(tensorflowTracer, operation_end, "tf_operation", placement, name);
}

void dfsim_session_start(const char* name, int64_t count) {
  lttng_ust_tracepoint(tensorflowTracer, session_start, "tf_session", name, count);
}

void dfsim_session_end(const char* name, int64_t count) {
  lttng_ust_tracepoint(tensorflowTracer, session_end, "tf_session", name, count);
}
