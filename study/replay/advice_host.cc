// Rules about what the host does: launches, waits, allocations, input.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <span>

#include "base/text.h"
#include "datasets/traces/name_memo.h"
#include "study/replay/advice.h"

namespace dfsim::inline study {
namespace {

// A host piece as long as this is a computation of its own, which no graph of launches captures.
constexpr TimeNs kLongPieceNs = kNsPerMs;
// A graph of fewer kernels is not worth its capture.
constexpr int64_t kLeastKernels = 2;

constexpr std::array<std::string_view, 5> kValueReads = {
    "aten::item", "aten::_local_scalar_dense", "aten::is_nonzero", "aten::nonzero", "aten::equal"};
constexpr std::array<std::string_view, 3> kScalarReads = {"aten::item", "aten::_local_scalar_dense",
                                                          "aten::is_nonzero"};

std::string time_of(TimeNs time_ns) { return format_time(time_ns); }

// Pieces that wait for the device.
std::vector<bool> waiting_pieces(const ReplayGraph& graph) {
  std::vector<bool> waits(graph.pieces.size(), false);
  for (const PieceEdge& edge : graph.edges) {
    if (edge.kind == PieceEdgeKind::kSync) {
      waits[edge.to] = true;
    }
  }
  return waits;
}

// How much work each call launches.
std::vector<int> launches_of(const AdviceInput& input) {
  std::vector<int> launches(input.trace.spans.size(), 0);
  for (const Piece& piece : input.graph.pieces) {
    if (is_device_piece(piece.kind) && piece.span.valid() &&
        input.trace.span(piece.span).launch.valid()) {
      ++launches[input.trace.span(piece.span).launch.index()];
    }
  }
  return launches;
}

// The time of the work that each call launches, and how much of it is kernels.
struct LaunchedWork {
  TimeNs time_ns = 0;
  int kernels = 0;
};

std::vector<LaunchedWork> launched_work_of(const AdviceInput& input) {
  std::vector<LaunchedWork> work(input.trace.spans.size());
  for (const Piece& piece : input.graph.pieces) {
    if (is_device_piece(piece.kind) && piece.span.valid() &&
        input.trace.span(piece.span).launch.valid()) {
      LaunchedWork& of_call = work[input.trace.span(piece.span).launch.index()];
      of_call.time_ns += piece.time_ns;
      of_call.kernels += piece.kind == PieceKind::kKernel ? 1 : 0;
    }
  }
  return work;
}

bool is_any_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void set_time(Piece* piece, TimeNs time_ns) {
  piece->time_ns = piece->low_ns = piece->high_ns = time_ns;
}

// The span itself or one of the operators around it has one of these names.
bool is_inside(const Trace& trace, SpanId id, std::span<const std::string_view> names) {
  for (SpanId at = id; at.valid(); at = trace.span(at).op) {
    if (std::ranges::find(names, trace.text(trace.span(at).name)) != names.end()) {
      return true;
    }
  }
  return false;
}

// Puts the longest calls first and says how many of them are not like the others: the first call
// into a device's runtime initialises it, which takes many times as long as what the call does.
size_t initialisation_calls(const ReplayGraph& graph, std::vector<uint32_t>* calls) {
  constexpr double kUnlike = 3;        // times as long as the next shorter one
  constexpr double kMostShare = 0.05;  // of all calls; one of few
  std::ranges::stable_sort(*calls, std::ranges::greater{},
                           [&graph](uint32_t p) { return graph.pieces[p].time_ns; });
  const auto most =
      std::max<size_t>(1, static_cast<size_t>(kMostShare * static_cast<double>(calls->size())));
  size_t found = 0;
  for (size_t i = 0; i < most && i + 1 < calls->size(); ++i) {
    if (static_cast<double>(graph.pieces[(*calls)[i]].time_ns) >
        kUnlike * static_cast<double>(graph.pieces[(*calls)[i + 1]].time_ns)) {
      found = i + 1;
    }
  }
  return found;
}

}  // namespace

// A stream in capture refuses calls that wait, query, or take memory from the device.
bool breaks_capture(std::string_view call) {
  const std::string lower = to_lower(call);
  const auto has = [&lower](std::string_view part) {
    return lower.find(part) != std::string::npos;
  };
  const bool blocking_copy = has("memcpy") && !has("async");
  return has("malloc") || has("free") || has("memalloc") || has("hostalloc") ||
         has("synchronize") || has("query") || has("memgetinfo") || blocking_copy;
}

// Between two waits for the device everything the host does becomes one launch. A region counts
// when it launches several kernels and the host takes longer than they do: a graph would not
// shorten others, and one kernel between waits gains nothing from one.
Finding find_launch_overhead(const AdviceInput& input) {
  Finding finding;
  const std::vector<bool> waits = waiting_pieces(input.graph);
  const std::vector<int> launches = launches_of(input);
  std::vector<TimeNs> calls;
  for (const Piece& piece : input.graph.pieces) {
    if (piece.kind == PieceKind::kCall && launches[piece.span.index()] > 0) {
      calls.push_back(piece.time_ns);
    }
  }
  if (calls.size() < 2) {
    return finding;
  }
  std::nth_element(calls.begin(), calls.begin() + static_cast<std::ptrdiff_t>(calls.size() / 2),
                   calls.end());
  const TimeNs launch_ns = calls[calls.size() / 2];
  finding.changed = input.graph;
  const std::vector<LaunchedWork> launched = launched_work_of(input);
  NameMemo<bool> breaks;
  int64_t graphs = 0;
  int64_t captured = 0;
  for (size_t lane = 0; lane < input.graph.order.size(); ++lane) {
    const std::vector<uint32_t>& order = input.graph.order[lane];
    for (size_t begin = 0; begin < order.size();) {
      // A region ends at a wait, and at any span outside a launch sequence.
      size_t end = begin;
      int64_t count = 0;
      int64_t kernels = 0;
      TimeNs host_ns = 0;
      TimeNs device_ns = 0;
      const auto ends = [&](uint32_t p) {
        const Piece& piece = input.graph.pieces[p];
        return waits[p] || is_device_piece(piece.kind) || piece.time_ns >= kLongPieceNs ||
               (piece.kind == PieceKind::kCall &&
                breaks.of(input.trace, input.trace.span(piece.span).name, breaks_capture));
      };
      for (; end < order.size() && !ends(order[end]); ++end) {
        const Piece& piece = input.graph.pieces[order[end]];
        const bool is_call = piece.kind == PieceKind::kCall;
        count += is_call ? launches[piece.span.index()] : 0;
        host_ns += piece.time_ns;
        device_ns += is_call ? launched[piece.span.index()].time_ns : 0;
        kernels += is_call ? launched[piece.span.index()].kernels : 0;
      }
      if (kernels >= kLeastKernels && 2 * host_ns > 3 * device_ns) {
        for (size_t i = begin; i < end; ++i) {
          set_time(&finding.changed.pieces[order[i]], i + 1 == end ? launch_ns : 0);
        }
        ++graphs;
        captured += count;
      }
      begin = std::max(end, begin + 1);
    }
  }
  if (graphs > 0) {
    finding.insight = fmt::format(
        "{} pieces of device work are launched one by one, {} of {} take less time than their "
        "launch",
        captured, input.analysis.launches.shorter_than_call, input.analysis.launches.call.count);
    finding.action = fmt::format(
        "capture the work between two waits as one graph ({} of them): CUDA or HIP graphs, "
        "torch.compile(mode=\"reduce-overhead\"), enable_cuda_graph of ONNX Runtime",
        graphs);
  }
  return finding;
}

// Reads of single values that empty the queue: they go, with their copies and calls, and nothing is
// waited for.
Finding find_host_synchronisation(const AdviceInput& input) {
  Finding finding;
  finding.changed = input.graph;
  std::set<uint32_t> freed;
  TimeNs waited_ns = 0;
  const auto reads_value = [&input](uint32_t p) {
    const Piece& piece = input.graph.pieces[p];
    return piece.kind == PieceKind::kCall && is_inside(input.trace, piece.span, kValueReads);
  };
  std::erase_if(finding.changed.edges, [&](const PieceEdge& edge) {
    if (edge.kind != PieceEdgeKind::kSync || !reads_value(edge.to)) {
      return false;
    }
    freed.insert(edge.to);
    return true;
  });
  for (const uint32_t p : freed) {
    const Piece& piece = input.graph.pieces[p];
    waited_ns += piece.end_ns - piece.start_ns;
    set_time(&finding.changed.pieces[p], 0);
  }
  for (size_t p = 0; !freed.empty() && p < input.graph.pieces.size(); ++p) {
    const Piece& piece = input.graph.pieces[p];
    const SpanId op = !piece.span.valid()           ? SpanId()
                      : is_device_piece(piece.kind) ? input.trace.span(piece.span).op
                                                    : piece.span;
    // nonzero() computes something besides; the others only bring a value to the host.
    if (op.valid() && is_inside(input.trace, op, kScalarReads)) {
      set_time(&finding.changed.pieces[p], 0);
    }
  }
  if (!freed.empty()) {
    finding.insight = fmt::format("the host waits {} times for single values of the device ({})",
                                  freed.size(), time_of(waited_ns));
    finding.action =
        "keep values on the device: no .item(), bool() or nonzero() in the step; read results "
        "once, after it";
  }
  return finding;
}

Finding find_allocator_growth(const AdviceInput& input) {
  Finding finding;
  finding.changed = input.graph;
  std::map<NameId, std::vector<uint32_t>> calls_of;  // by name
  for (uint32_t p = 0; p < input.graph.pieces.size(); ++p) {
    const Piece& piece = input.graph.pieces[p];
    if (piece.kind == PieceKind::kCall &&
        is_any_of(
            input.trace.text(input.trace.span(piece.span).name),
            {"cudaMalloc", "cudaFree", "cudaMallocHost", "cudaHostAlloc", "cudaFreeHost",
             "cudaMallocPitch", "cudaMalloc3D", "cudaMallocManaged", "cuMemAlloc", "cuMemFree",
             "cuMemAlloc_v2", "cuMemFree_v2", "cuMemHostAlloc", "cuMemAllocHost_v2",
             "cuMemFreeHost", "hipMalloc", "hipFree", "hipHostMalloc", "hipHostFree"})) {
      calls_of[input.trace.span(piece.span).name].push_back(p);
    }
  }
  int64_t calls = 0;
  int64_t initial = 0;
  TimeNs spent_ns = 0;
  for (auto& [name, pieces] : calls_of) {
    const size_t outliers = initialisation_calls(input.graph, &pieces);
    initial += static_cast<int64_t>(outliers);
    finding.aside.insert(finding.aside.end(), pieces.begin(),
                         pieces.begin() + static_cast<std::ptrdiff_t>(outliers));
    for (size_t i = outliers; i < pieces.size(); ++i) {
      set_time(&finding.changed.pieces[pieces[i]], 0);
      spent_ns += input.graph.pieces[pieces[i]].time_ns;
      ++calls;
    }
  }
  if (calls > 0) {
    finding.insight = fmt::format(
        "{} calls take memory from the device or give it back ({}){}", calls, time_of(spent_ns),
        initial > 0 ? fmt::format(", {} of initialisation apart", initial) : std::string());
    finding.action =
        "let the allocator grow before the run (a warm-up with the largest shapes), or ask for "
        "expandable_segments or a memory pool";
  }
  return finding;
}

Finding find_input_stalls(const AdviceInput& input) {
  Finding finding;
  finding.changed = input.graph;
  int64_t waits = 0;
  TimeNs spent_ns = 0;
  std::set<std::string_view> names;
  for (const WaitRow& row : input.analysis.waits) {
    if (row.kind == "input") {
      names.insert(row.name);
      waits += row.time.count;
    }
  }
  if (names.empty()) {
    return finding;
  }
  // Everything the thread does inside such a span, whatever kind of span it is.
  std::vector<std::vector<std::pair<TimeNs, TimeNs>>> stalls(input.trace.tracks.size());
  for (const Span& span : input.trace.spans) {
    if (names.count(input.trace.text(span.name)) > 0) {
      const auto at = [&input](double time_us) {
        return ns_from_seconds(std::max(0.0, time_us - input.graph.start_us) / 1e6);
      };
      stalls[span.track.index()].emplace_back(at(span.start_us), at(span.end_us));
    }
  }
  for (size_t p = 0; p < input.graph.pieces.size(); ++p) {
    const Piece& piece = input.graph.pieces[p];
    if (is_device_piece(piece.kind)) {
      continue;
    }
    for (const auto& [from_ns, to_ns] : stalls[input.graph.lanes[piece.lane].track.index()]) {
      if (piece.start_ns >= from_ns && piece.end_ns <= to_ns) {
        set_time(&finding.changed.pieces[p], 0);
        spent_ns += piece.time_ns;
        break;
      }
    }
  }
  finding.insight =
      fmt::format("the run waits {} times for its input ({})", waits, time_of(spent_ns));
  finding.action =
      "prepare input ahead: more workers, a deeper prefetch, pinned memory, cheaper decoding";
  return finding;
}

}  // namespace dfsim::inline study
