// Adds up the work of one operator: operands once each, results, and what its rule adds. An
// operand that is given twice is read once.
#include "graphs/ops/work_context.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/text.h"

namespace dfsim::inline graphs {

WorkContext::WorkContext(const Graph& graph, const Op& op, double flops_per_element)
    : graph_(graph), op_(op), flops_per_element_(flops_per_element) {
  read_.resize(op.inputs.size());
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (has_input(i) && !is_repeated(i)) {
      read_[i] = input(i).bytes();
      if (work_.dtype == DType::kUnknown ||
          (!is_floating(work_.dtype) && is_floating(input(i).dtype))) {
        work_.dtype = input(i).dtype;
      }
    }
  }
  for (const TensorId id : op.outputs) {
    if (id.valid()) {
      written_ += graph.tensor(id).bytes();
      if (work_.dtype == DType::kUnknown) {
        work_.dtype = graph.tensor(id).dtype;
      }
    }
  }
}

bool WorkContext::is_repeated(size_t i) {
  constexpr size_t kFew = 16;  // below, a search beats hashing
  if (op_.inputs.size() > kFew) {
    return !seen_.insert(op_.inputs[i]).second;
  }
  const auto end = op_.inputs.begin() + static_cast<std::ptrdiff_t>(i);
  return std::find(op_.inputs.begin(), end, op_.inputs[i]) != end;
}

const Tensor& WorkContext::first_output() const {
  for (const TensorId id : op_.outputs) {
    if (id.valid()) {
      return graph_.tensor(id);
    }
  }
  DFSIM_CHECK(!"an op without outputs has no work rule");
  return graph_.tensor(TensorId(0));
}

void WorkContext::add_macs(Count macs) {
  macs_ += macs;
  flops_ += macs * Count(2);
}

void WorkContext::add_flops(Count elements, double per_element) {
  const double whole = std::floor(per_element);
  flops_ += elements * Count(static_cast<int64_t>(whole));
  if (per_element > whole && !elements.overflowed()) {
    flops_ += Count(std::llround(static_cast<double>(elements.value()) * (per_element - whole)));
  }
}

void WorkContext::set_input_bytes(size_t i, Count bytes) {
  if (i < read_.size()) {
    read_[i] = bytes;
  }
}

void WorkContext::set_no_traffic() {
  std::fill(read_.begin(), read_.end(), Count());
  written_ = Count();
}

void WorkContext::set_body(const BodyWork& body, int64_t times) {
  const Count trips(times);
  set_no_traffic();
  macs_ = body.macs * trips;
  flops_ = body.flops * trips;
  if (!read_.empty()) {
    read_[0] = body.bytes_read * trips;
  }
  written_ = body.bytes_written * trips;
  body_weights_ = body.weight_bytes * trips;
  work_.dtype = body.dtype;
  work_.matrix = body.matrix;
}

StatusOr<OpWork> WorkContext::finish() const {
  DFSIM_RETURN_IF_ERROR(error_);
  Count read;
  Count weights = body_weights_;
  for (size_t i = 0; i < read_.size(); ++i) {
    read += read_[i];
    if (has_input(i) && input(i).role == TensorRole::kWeight) {
      weights += read_[i];
    }
  }
  if (macs_.overflowed() || flops_.overflowed() || (read + written_).overflowed()) {
    return invalid_input(
        fmt::format("{} '{}': its work does not fit in 63 bits; check the dimensions of its inputs",
                    printable(op_.op_type, 40), printable(op_.name)));
  }
  OpWork work = work_;
  work.macs = macs_.value();
  work.flops = flops_.value();
  work.bytes_read = read.value();
  work.bytes_written = written_.value();
  work.weight_bytes = weights.value();
  return work;
}

void work_per_element(WorkContext& context) {
  context.add_flops(context.first_output().shape.elements(), context.flops_per_element());
}

void work_copy(WorkContext& context) {
  // Slices and gathers touch only what they return, whatever the size of their source.
  const Tensor& out = context.first_output();
  if (context.has_input(0)) {
    const Count source = context.input(0).bytes();
    const Count wanted = dtype_bytes(context.input(0).dtype, out.shape.elements());
    context.set_input_bytes(0, wanted.value() < source.value() ? wanted : source);
  }
}

void work_none(WorkContext& context) { context.set_no_traffic(); }

}  // namespace dfsim::inline graphs
