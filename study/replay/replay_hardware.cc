// Moves device work to other hardware, best source first: the operator's predicted time, shared
// among its kernels as measured; the ratio of rates for kernels without a known operator; the
// link's rate for copies. Work that none of these covers keeps its time and is reported.
#include "study/replay/replay_hardware.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/text.h"
#include "datasets/profiles/profile.h"
#include "datasets/traces/span_ops.h"
#include "hardware/route.h"
#include "opmodel/sol.h"
#include "opmodel/train/profile_ops.h"

namespace dfsim::inline study {
namespace {

DType kernel_dtype(std::string_view name) {
  const std::string lower = to_lower(name);
  const auto has = [&lower](std::string_view part) {
    return lower.find(part) != std::string::npos;
  };
  if (has("bf16") || has("bfloat16")) {
    return DType::kBFloat16;
  }
  return has("f16") || has("half") || has("h16") || has("hgemm") || has("fp16") ? DType::kFloat16
                                                                                : DType::kFloat32;
}

// Nanoseconds per byte between the host's memory and the first device; 0 = no link.
double host_link(const Platform& platform) {
  const RouteTable routes(platform);
  const Route& route = routes.route(routes.host(), 0);
  return routes.host() != 0 && route.reachable ? route.ns_per_byte : 0;
}

class Mover {
 public:
  Mover(const Trace& trace, const OtherHardware& other, ReplayGraph* graph)
      : trace_(trace), other_(other), graph_(graph), to_(other.platform.devices.front()) {}

  StatusOr<std::vector<PieceSource>> move() {
    find_ops();
    DFSIM_RETURN_IF_ERROR(predict());
    std::vector<PieceSource> sources(graph_->pieces.size(), PieceSource::kMeasured);
    for (size_t p = 0; p < graph_->pieces.size(); ++p) {
      sources[p] = move_piece(p);
    }
    return sources;
  }

 private:
  // An operator whose work moves, with the measured time of all its pieces.
  struct MovedOp {
    TimeNs measured_ns = 0;
    size_t row = SIZE_MAX;  // of descriptors
  };

  // On the host alone the operators themselves are the work.
  bool moves(const Piece& piece) const {
    return piece.span.valid() &&
           (on_device_ ? piece.kind == PieceKind::kKernel || piece.kind == PieceKind::kMemset
                       : piece.kind == PieceKind::kOp);
  }

  SpanId op_of(const Piece& piece) const {
    return on_device_ ? trace_.span(piece.span).op : piece.span;
  }

  void find_ops() {
    on_device_ = std::any_of(graph_->pieces.begin(), graph_->pieces.end(),
                             [](const Piece& piece) { return is_device_piece(piece.kind); });
    std::unordered_map<NameId, std::map<NameId, size_t>> known;  // operands and name to row
    for (const Piece& piece : graph_->pieces) {
      if (!moves(piece) || !op_of(piece).valid()) {
        continue;
      }
      const SpanId id = op_of(piece);
      const auto [it, is_new] = ops_.try_emplace(id);
      it->second.measured_ns += piece.time_ns;
      const Span& span = trace_.span(id);
      if (!is_new || !span.operands.valid()) {
        continue;
      }
      const auto [row, new_row] = known[span.operands].try_emplace(span.name, descriptors_.size());
      if (new_row) {
        const auto op = describe_for_costs(trace_, id);
        if (op.has_value()) {
          descriptors_.push_back(*op);
        } else {
          row->second = SIZE_MAX;
        }
      }
      it->second.row = row->second;
    }
  }

  Status predict() {
    costs_.resize(descriptors_.size());
    return descriptors_.empty() ? ok_status() : other_.costs.predict(descriptors_, to_, costs_);
  }

  PieceSource move_piece(size_t p) {
    Piece& piece = graph_->pieces[p];
    if (piece.kind == PieceKind::kCopy) {
      return move_copy(&piece);
    }
    if (!moves(piece)) {
      return PieceSource::kMeasured;
    }
    const auto op = op_of(piece).valid() ? ops_.find(op_of(piece)) : ops_.end();
    if (op != ops_.end() && op->second.row != SIZE_MAX) {
      const PieceSource source = move_op_piece(op->second, &piece);
      if (source != PieceSource::kMeasured) {
        return source;
      }
    }
    return on_device_ ? move_by_device(&piece) : PieceSource::kMeasured;
  }

  // The operator's predicted time, shared out among its pieces as measured.
  PieceSource move_op_piece(const MovedOp& op, Piece* piece) {
    const OpDescriptor& descriptor = descriptors_[op.row];
    const OpCost& cost = costs_[op.row];
    const bool whole = !descriptor.output_extents.empty();
    if (whole && cost.source != CostSource::kBoundOnly && op.measured_ns > 0) {
      scale(piece, static_cast<double>(cost.time_ns) / static_cast<double>(op.measured_ns));
      if (cost.time_ns > 0) {
        const double time = static_cast<double>(piece->time_ns) / static_cast<double>(cost.time_ns);
        piece->low_ns = static_cast<TimeNs>(static_cast<double>(cost.low_ns) * time);
        piece->high_ns = static_cast<TimeNs>(static_cast<double>(cost.high_ns) * time);
        piece->modelled = true;
      }
      return cost.source == CostSource::kExtrapolated ? PieceSource::kExtrapolated
                                                      : PieceSource::kPredicted;
    }
    if (other_.from == nullptr) {
      return PieceSource::kMeasured;
    }
    const double from_s = speed_of_light(descriptor, other_.from->devices.front()).seconds();
    const double to_s = speed_of_light(descriptor, to_).seconds();
    if (from_s <= 0 || to_s <= 0) {
      return PieceSource::kMeasured;
    }
    scale(piece, to_s / from_s);
    return PieceSource::kOpRatio;
  }

  PieceSource move_by_device(Piece* piece) {
    if (other_.from == nullptr) {
      return PieceSource::kMeasured;
    }
    const DeviceSpec& from = other_.from->devices.front();
    const std::string& name = trace_.text(trace_.span(piece->span).name);
    double from_rate = from.memory_bytes_per_s;
    double to_rate = to_.memory_bytes_per_s;
    if (is_matrix_kernel(name)) {
      const DType dtype = kernel_dtype(name);
      from_rate = from.peak_flops_per_s(dtype, true);
      to_rate = to_.peak_flops_per_s(dtype, true);
    }
    if (from_rate <= 0 || to_rate <= 0) {
      return PieceSource::kMeasured;
    }
    scale(piece, from_rate / to_rate);
    return PieceSource::kDeviceRatio;
  }

  PieceSource move_copy(Piece* piece) {
    if (other_.from == nullptr) {
      return PieceSource::kMeasured;
    }
    switch (copy_direction(trace_.text(trace_.span(piece->span).name))) {
      case CopyDirection::kHostToDevice:
      case CopyDirection::kDeviceToHost: {
        const double from = host_link(*other_.from);
        const double to = host_link(other_.platform);
        if (from > 0 && to > 0) {
          scale(piece, to / from);
          return PieceSource::kLinkRatio;
        }
        return PieceSource::kMeasured;
      }
      case CopyDirection::kDeviceToDevice:
        return move_by_device(piece);
      default:
        return PieceSource::kMeasured;
    }
  }

  static void scale(Piece* piece, double factor) {
    const auto times = [factor](TimeNs time_ns) {
      return ns_from_seconds(static_cast<double>(time_ns) / kNsPerSecond * factor);
    };
    piece->time_ns = times(piece->time_ns);
    piece->low_ns = times(piece->low_ns);
    piece->high_ns = times(piece->high_ns);
  }

  const Trace& trace_;
  const OtherHardware& other_;
  ReplayGraph* graph_;
  const DeviceSpec& to_;
  bool on_device_ = false;
  std::unordered_map<SpanId, MovedOp> ops_;
  std::vector<OpDescriptor> descriptors_;
  std::vector<OpCost> costs_;
};

}  // namespace

std::string_view piece_source_name(PieceSource source) {
  constexpr std::array<std::string_view, kPieceSourceCount> kNames = {
      "measured", "predicted", "extrapolated", "op-ratio", "device-ratio", "link-ratio", "scaled"};
  return kNames[static_cast<size_t>(source)];
}

bool is_matrix_kernel(std::string_view name) {
  constexpr std::array<std::string_view, 11> kParts = {"gemm",      "conv",     "cutlass", "wgrad",
                                                       "dgrad",     "winograd", "fmha",    "flash",
                                                       "attention", "xmma",     "cijk_"};
  const std::string lower = to_lower(name);
  return std::any_of(kParts.begin(), kParts.end(), [&lower](std::string_view part) {
    return lower.find(part) != std::string::npos;
  });
}

std::optional<OpDescriptor> describe_for_costs(const Trace& trace, SpanId op) {
  const std::optional<TorchOp> found = describe_span_op(trace, trace.span(op));
  if (!found.has_value()) {
    return std::nullopt;
  }
  Profile profile;
  ProfileRow row;
  row.op_type = profile.intern(found->op_type);
  row.op_class = found->op_class;
  row.attributes = profile.intern(found->attributes);
  row.inputs = profile.intern(found->inputs);
  row.outputs = profile.intern(found->outputs);
  row.time_ns = 1;
  return descriptor_of(profile, row);
}

StatusOr<std::vector<PieceSource>> move_to_hardware(const Trace& trace, const OtherHardware& other,
                                                    ReplayGraph* graph) {
  return Mover(trace, other, graph).move();
}

}  // namespace dfsim::inline study
