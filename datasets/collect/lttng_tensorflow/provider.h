/* Tracepoints of a framework's operators, with the names and fields of the GPU-dataflow tracing
 * method's tensorflowTracer, so that every tool for its traces reads ours. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER tensorflowTracer

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./provider.h"

#if !defined(DFSIM_TENSORFLOW_TRACER_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define DFSIM_TENSORFLOW_TRACER_H

#include <lttng/tracepoint.h>
#include <stdint.h>

LTTNG_UST_TRACEPOINT_EVENT_CLASS(
    tensorflowTracer, placed,
    LTTNG_UST_TP_ARGS(const char*, cat, const char*, placement, const char*, name),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_string(cat, cat)
                            lttng_ust_field_string(placement, placement)
                                lttng_ust_field_string(name, name)))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(tensorflowTracer, placed, tensorflowTracer, operation_start,
                                    LTTNG_UST_TP_ARGS(const char*, cat, const char*, placement,
                                                      const char*, name))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(tensorflowTracer, placed, tensorflowTracer, operation_end,
                                    LTTNG_UST_TP_ARGS(const char*, cat, const char*, placement,
                                                      const char*, name))

LTTNG_UST_TRACEPOINT_EVENT_CLASS(
    tensorflowTracer, run, LTTNG_UST_TP_ARGS(const char*, cat, const char*, name, int64_t, count),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_string(cat, cat) lttng_ust_field_string(name, name)
                            lttng_ust_field_integer(int64_t, count, count)))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(tensorflowTracer, run, tensorflowTracer, session_start,
                                    LTTNG_UST_TP_ARGS(const char*, cat, const char*, name, int64_t,
                                                      count))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(tensorflowTracer, run, tensorflowTracer, session_end,
                                    LTTNG_UST_TP_ARGS(const char*, cat, const char*, name, int64_t,
                                                      count))

#endif

#include <lttng/tracepoint-event.h>
