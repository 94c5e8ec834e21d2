// Names of counters and their units.
#include "study/roofline/counted_work.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/text.h"

namespace dfsim::inline study {
namespace {

constexpr double kCacheLine = 64;
constexpr double kSector = 32;  // of a GPU's memory

struct NamedCounter {
  std::string_view part;  // of the name, in lower case
  CounterMeaning each;
};

// The first that fits counts, so longer names come before the names that they contain.
constexpr std::array kCounters = {
    // From files of LIKWID.
    NamedCounter{"likwid flop", {1, 0}},
    NamedCounter{"likwid memory bytes", {0, 1}},
    // Intel: instructions, a fused multiply-add counts twice.
    NamedCounter{"fp_arith_inst_retired.512b_packed_single", {16, 0}},
    NamedCounter{"fp_arith_inst_retired.512b_packed_double", {8, 0}},
    NamedCounter{"fp_arith_inst_retired.256b_packed_single", {8, 0}},
    NamedCounter{"fp_arith_inst_retired.256b_packed_double", {4, 0}},
    NamedCounter{"fp_arith_inst_retired.128b_packed_single", {4, 0}},
    NamedCounter{"fp_arith_inst_retired.128b_packed_double", {2, 0}},
    NamedCounter{"fp_arith_inst_retired.scalar", {1, 0}},
    NamedCounter{"fp_ret_sse_avx_ops.all", {1, 0}},  // AMD
    NamedCounter{"llc-load-misses", {0, kCacheLine}},
    NamedCounter{"llc-store-misses", {0, kCacheLine}},
    NamedCounter{"cache-misses", {0, kCacheLine}},
    NamedCounter{"longest_lat_cache.miss", {0, kCacheLine}},
    // nvprof.
    NamedCounter{"flop_count_sp_", {0, 0}},  // parts of the sum below
    NamedCounter{"flop_count_dp_", {0, 0}},
    NamedCounter{"flop_count_hp_", {0, 0}},
    NamedCounter{"flop_count_sp", {1, 0}},
    NamedCounter{"flop_count_dp", {1, 0}},
    NamedCounter{"flop_count_hp", {1, 0}},
    NamedCounter{"dram_read_bytes", {0, 1}},
    NamedCounter{"dram_write_bytes", {0, 1}},
    NamedCounter{"dram_read_transactions", {0, kSector}},
    NamedCounter{"dram_write_transactions", {0, kSector}},
    // Nsight Compute: sums over threads.
    NamedCounter{"op_ffma_pred_on.sum", {2, 0}},
    NamedCounter{"op_dfma_pred_on.sum", {2, 0}},
    NamedCounter{"op_hfma_pred_on.sum", {2, 0}},
    NamedCounter{"op_fadd_pred_on.sum", {1, 0}},
    NamedCounter{"op_fmul_pred_on.sum", {1, 0}},
    NamedCounter{"op_dadd_pred_on.sum", {1, 0}},
    NamedCounter{"op_dmul_pred_on.sum", {1, 0}},
    NamedCounter{"op_hadd_pred_on.sum", {1, 0}},
    NamedCounter{"op_hmul_pred_on.sum", {1, 0}},
    NamedCounter{"dram__bytes_read.sum", {0, 1}},
    NamedCounter{"dram__bytes_write.sum", {0, 1}},
    // AMD's GPUs: kilobytes.
    NamedCounter{"fetchsize", {0, 1024}},
    NamedCounter{"writesize", {0, 1024}},
};

// "perf_thread_cache_misses" as perf writes it.
std::string plain_name(std::string_view name) {
  std::string lower = to_lower(name);
  if (lower.starts_with("fp_arith_inst_retired_")) {  // LIKWID's spelling
    lower[std::string_view("fp_arith_inst_retired").size()] = '.';
    return lower;
  }
  for (const std::string_view prefix : {"perf_thread_", "perf_cpu_"}) {
    if (lower.starts_with(prefix)) {
      lower.erase(0, prefix.size());
      if (lower.starts_with("fp_arith_inst_retired_")) {
        lower[std::string_view("fp_arith_inst_retired").size()] = '.';
      } else {
        std::ranges::replace(lower, '_', '-');
      }
      break;
    }
  }
  return lower;
}

}  // namespace

CounterMeaning meaning_of_counter(std::string_view name) {
  const std::string lower = plain_name(name);
  const auto found = std::ranges::find_if(kCounters, [&lower](const NamedCounter& counter) {
    return lower.find(counter.part) != std::string::npos;
  });
  return found == kCounters.end() ? CounterMeaning() : found->each;
}

std::vector<CountedWork> counted_work(const Trace& trace) {
  std::vector<CountedWork> work;
  for (const SpanCounter& counter : trace.span_counters) {
    const CounterMeaning meaning = meaning_of_counter(trace.text(counter.name));
    if (meaning.flops <= 0 && meaning.bytes <= 0) {
      continue;
    }
    work.resize(trace.spans.size());
    const Span& span = trace.span(counter.span);
    const SpanId owner = is_device_work(span.kind) && span.op.valid() ? span.op : counter.span;
    CountedWork& sum = work[owner.index()];
    if (meaning.flops > 0) {
      sum.flops = std::max(sum.flops, 0.0) + meaning.flops * counter.value;
    }
    if (meaning.bytes > 0) {
      sum.bytes = std::max(sum.bytes, 0.0) + meaning.bytes * counter.value;
    }
  }
  return work;
}

}  // namespace dfsim::inline study
