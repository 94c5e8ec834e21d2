// Rules about what devices do: small kernels, copies, communication, memory; and about sections
// that only one thread works in.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/counted.h"
#include "base/text.h"
#include "datasets/importers/op_names.h"
#include "datasets/traces/name_memo.h"
#include "opmodel/train/profile_ops.h"
#include "study/replay/advice.h"

namespace dfsim::inline study {
namespace {

constexpr double kUsableMemory = 0.9;  // of the device's
constexpr int64_t kMostBatches = 64;

void set_device_time(Piece* piece, TimeNs time_ns) {
  piece->time_ns = piece->low_ns = piece->high_ns = time_ns;
}

// Tells which pieces do elementwise work.
class ElementwiseWork {
 public:
  bool is(const Trace& trace, const Piece& piece) {
    const NameId name = trace.span(piece.span).name;
    if (piece.kind == PieceKind::kOp) {
      return ops_.of(trace, name, [](const std::string& op) {
        return onnx_op_class(op) == OpClass::kElementwise;
      });
    }
    return piece.kind == PieceKind::kKernel &&
           kernels_.of(trace, name, [](const std::string& kernel) {
             return kernel.find("elementwise") != std::string::npos ||
                    kernel.find("pointwise") != std::string::npos;
           });
  }

 private:
  NameMemo<bool> ops_;
  NameMemo<bool> kernels_;
};

// "[[8, 64]" of "[[8, 64], []] [...]": the shape of the first operand; "" when it is not recorded.
std::string_view first_shape(const Trace& trace, const Piece& piece) {
  const Span& span = trace.span(piece.span);
  const NameId detail = span.op.valid() ? trace.span(span.op).detail : span.detail;
  const std::string_view text = trace.text(detail);
  return text.starts_with('[') ? text.substr(0, text.find(']')) : std::string_view();
}

// Host pieces of these spans take no time.
void drop_host_pieces(const std::set<SpanId>& spans, ReplayGraph* graph) {
  for (Piece& piece : graph->pieces) {
    if (!is_device_piece(piece.kind) && piece.span.valid() && spans.count(piece.span) > 0) {
      set_device_time(&piece, 0);
    }
  }
}

}  // namespace

// Neighbours in a queue that do elementwise work of one shape become one kernel that takes as long
// as the longest of them: it reads and writes what that one does.
Finding find_fusion(const AdviceInput& input) {
  Finding finding;
  finding.changed = input.graph;
  std::set<SpanId> dropped;
  ElementwiseWork elementwise;
  int64_t chains = 0;
  int64_t fused = 0;
  for (const auto& order : input.graph.order) {
    std::vector<uint32_t> chain;
    const auto close = [&] {
      if (chain.size() > 1) {
        TimeNs longest_ns = 0;
        for (const uint32_t p : chain) {
          longest_ns = std::max(longest_ns, input.graph.pieces[p].time_ns);
          set_device_time(&finding.changed.pieces[p], 0);
        }
        set_device_time(&finding.changed.pieces[chain.front()], longest_ns);
        for (size_t i = 1; i < chain.size(); ++i) {
          const Span& span = input.trace.span(input.graph.pieces[chain[i]].span);
          for (const SpanId id : {span.launch, span.op}) {
            if (id.valid() && is_device_work(span.kind)) {
              dropped.insert(id);
            }
          }
        }
        ++chains;
        fused += static_cast<int64_t>(chain.size());
      }
      chain.clear();
    };
    for (const uint32_t p : order) {
      const Piece& piece = input.graph.pieces[p];
      if (!piece.span.valid()) {
        continue;  // gaps do not end a chain
      }
      if (!elementwise.is(input.trace, piece)) {
        close();
        continue;
      }
      if (!chain.empty() && first_shape(input.trace, piece) !=
                                first_shape(input.trace, input.graph.pieces[chain.back()])) {
        close();
      }
      chain.push_back(p);
    }
    close();
  }
  drop_host_pieces(dropped, &finding.changed);
  if (chains > 0) {
    finding.insight =
        fmt::format("{} elementwise pieces of work follow one another in {} chains", fused, chains);
    finding.action =
        "fuse each chain into one kernel: torch.compile, a fused operator, or a higher graph "
        "optimisation level";
  }
  return finding;
}

// Copies from pageable memory hold the host; from pinned memory it goes on at once.
Finding find_pageable_copies(const AdviceInput& input) {
  Finding finding;
  finding.changed = input.graph;
  TimeNs least_ns = INT64_MAX;  // of a call that copies
  std::set<uint32_t> freed;
  Count bytes;
  for (const PieceEdge& edge : input.graph.edges) {
    const Piece& copy = input.graph.pieces[edge.from];
    if (edge.kind != PieceEdgeKind::kSync || copy.kind != PieceKind::kCopy) {
      continue;
    }
    const Span& span = input.trace.span(copy.span);
    const std::string& name = input.trace.text(span.name);
    if (span.launch == input.graph.pieces[edge.to].span && name.find("Pageable") != name.npos &&
        copy_direction(name) == CopyDirection::kHostToDevice) {
      freed.insert(edge.to);
      bytes += std::max<Bytes>(span.bytes, 0);
    }
  }
  if (freed.empty()) {
    return finding;
  }
  TimeNs held_ns = 0;
  for (const uint32_t p : freed) {
    least_ns = std::min(least_ns, input.graph.pieces[p].time_ns);
    held_ns += input.graph.pieces[p].end_ns - input.graph.pieces[p].start_ns;
  }
  std::erase_if(finding.changed.edges, [&freed](const PieceEdge& edge) {
    return edge.kind == PieceEdgeKind::kSync && freed.count(edge.to) > 0;
  });
  for (const uint32_t p : freed) {
    set_device_time(&finding.changed.pieces[p], least_ns);
  }
  finding.insight = fmt::format(
      "{} of {} from pageable memory {} the host for {}", counted(freed.size(), "copy", "copies"),
      format_bytes(bytes.value()), freed.size() == 1 ? "holds" : "hold", format_time(held_ns));
  finding.action = "copy from pinned memory and do not wait: pin_memory=True, non_blocking=True";
  return finding;
}

// Work that only brings a tensor into another layout or type.
Finding find_layout_copies(const AdviceInput& input) {
  Finding finding;
  finding.changed = input.graph;
  std::set<SpanId> dropped;
  TimeNs spent_ns = 0;
  int64_t count = 0;
  for (size_t p = 0; p < input.graph.pieces.size(); ++p) {
    const Piece& piece = input.graph.pieces[p];
    if (!is_device_piece(piece.kind) || !piece.span.valid() ||
        (piece.kind == PieceKind::kCopy &&
         copy_direction(input.trace.text(input.trace.span(piece.span).name)) !=
             CopyDirection::kDeviceToDevice)) {
      continue;
    }
    std::vector<SpanId> path = {input.trace.span(piece.span).launch};
    bool is_layout = false;
    for (SpanId at = input.trace.span(piece.span).op; at.valid() && !is_layout;
         at = input.trace.span(at).op) {
      const std::string& name = input.trace.text(input.trace.span(at).name);
      is_layout = name == "aten::contiguous" || name == "aten::clone" || name == "aten::_to_copy" ||
                  name == "Transpose" || name == "Cast";
      path.push_back(at);
    }
    if (is_layout) {
      set_device_time(&finding.changed.pieces[p], 0);
      dropped.insert(path.begin(), path.end());
      spent_ns += piece.time_ns;
      ++count;
    }
  }
  drop_host_pieces(dropped, &finding.changed);
  if (count > 0) {
    finding.insight =
        fmt::format("{} a layout or type ({})",
                    counted(static_cast<uint64_t>(count), "piece of device work only changes",
                            "pieces of device work only change"),
                    format_time(spent_ns));
    finding.action =
        "keep one layout (channels_last) and one type through the model; convert weights once";
  }
  return finding;
}

// Communication overlaps computation, which does not wait for it.
Finding find_exposed_communication(const AdviceInput& input) {
  Finding finding;
  if (input.analysis.breakdown.exposed_communication_us <= 0) {
    return finding;
  }
  finding.changed = input.graph;
  ReplayGraph& graph = finding.changed;
  std::erase_if(graph.edges, [&graph](const PieceEdge& edge) {
    return edge.kind == PieceEdgeKind::kQueue &&
           graph.pieces[edge.from].kind == PieceKind::kCommunication;
  });
  for (size_t lane = 0; lane < input.graph.order.size(); ++lane) {
    std::vector<uint32_t> kept;
    std::vector<uint32_t> moved;
    for (const uint32_t p : graph.order[lane]) {
      const bool moves = graph.pieces[p].kind == PieceKind::kCommunication;
      if (moves && !kept.empty()) {
        graph.edges.push_back({kept.back(), p, 0, PieceEdgeKind::kQueue});
      }
      (moves ? moved : kept).push_back(p);
    }
    if (moved.empty() || kept.empty()) {
      continue;
    }
    for (const uint32_t p : moved) {
      graph.pieces[p].lane = static_cast<uint32_t>(graph.lanes.size());
    }
    graph.lanes.push_back(graph.lanes[lane]);
    graph.order[lane] = std::move(kept);
    graph.order.push_back(std::move(moved));
  }
  finding.insight = fmt::format(
      "{} of communication are hidden behind no computation",
      format_time(ns_from_seconds(input.analysis.breakdown.exposed_communication_us / 1e6)));
  finding.action =
      "communicate while computing: a stream of its own, smaller buckets, gradients as they come";
  return finding;
}

// Stretches of a run of several threads in which one operator works alone.
Finding find_serial_section(const AdviceInput& input) {
  Finding finding;
  std::vector<uint32_t> ops;
  std::set<uint32_t> lanes;
  for (uint32_t p = 0; p < input.graph.pieces.size(); ++p) {
    const Piece& piece = input.graph.pieces[p];
    if (is_device_piece(piece.kind)) {
      return finding;
    }
    if (piece.kind == PieceKind::kOp) {
      ops.push_back(p);
      lanes.insert(piece.lane);
    }
  }
  if (lanes.size() < 2) {
    return finding;
  }
  const std::vector<Piece>& pieces = input.graph.pieces;
  std::sort(ops.begin(), ops.end(), [&pieces](uint32_t a, uint32_t b) {
    return std::pair(pieces[a].start_ns, a) < std::pair(pieces[b].start_ns, b);
  });
  std::map<NameId, TimeNs> alone;
  std::vector<uint32_t> lonely;
  TimeNs busy_until_ns = 0;
  for (size_t i = 0; i < ops.size(); ++i) {
    const Piece& piece = pieces[ops[i]];
    const bool next_overlaps =
        i + 1 < ops.size() && pieces[ops[i + 1]].start_ns + kRoundingNs < piece.end_ns;
    if (busy_until_ns <= piece.start_ns + kRoundingNs && !next_overlaps) {
      alone[input.trace.span(piece.span).name] += piece.time_ns;
      lonely.push_back(ops[i]);
    }
    busy_until_ns = std::max(busy_until_ns, piece.end_ns);
  }
  const auto most = std::max_element(
      alone.begin(), alone.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == alone.end()) {
    return finding;
  }
  finding.changed = input.graph;
  for (const uint32_t p : lonely) {
    if (input.trace.span(pieces[p].span).name == most->first) {
      set_device_time(&finding.changed.pieces[p],
                      pieces[p].time_ns / static_cast<TimeNs>(lanes.size()));
    }
  }
  const std::string name = printable(input.trace.text(most->first), 40);
  finding.insight = fmt::format("{} works alone for {} while {} threads could", name,
                                format_time(most->second), lanes.size());
  finding.action = fmt::format(
      "let {} use {} intra-op threads, or give the other threads work that does not need its "
      "result",
      name, lanes.size());
  return finding;
}

// A larger batch: device work grows with it, the host's does not.
Finding find_batch_that_fits(const AdviceInput& input) {
  Finding finding;
  Bytes peak = 0;
  for (const AllocatorUse& use : input.analysis.memory) {
    peak = std::max(peak, use.device >= 0 ? std::max(use.peak_bytes, use.max_reserved_bytes) : 0);
  }
  if (peak <= 0 || input.trace.device_name.empty()) {
    return finding;
  }
  const auto device = find_device(input.trace.device_name);
  if (!device.ok() || device->memory_bytes <= 0) {
    return finding;
  }
  const auto usable = static_cast<Bytes>(kUsableMemory * static_cast<double>(device->memory_bytes));
  const int64_t batches = std::min(usable / peak, kMostBatches);
  if (batches < 2) {
    return finding;
  }
  finding.changed = input.graph;
  finding.per_run = static_cast<double>(batches);
  for (Piece& piece : finding.changed.pieces) {
    if (is_device_piece(piece.kind) && piece.span.valid()) {
      set_device_time(&piece, piece.time_ns * batches);
    }
  }
  finding.insight = fmt::format("the run holds at most {} of the device's {}", format_bytes(peak),
                                format_bytes(device->memory_bytes));
  finding.action = fmt::format(
      "a batch {} times as large fits, even when all memory grows with it; times are per recorded "
      "batch",
      batches);
  return finding;
}

}  // namespace dfsim::inline study
