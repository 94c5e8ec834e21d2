// A Cast that only other Casts read often changes nothing: bool -> fp32 -> bool. ONNX Runtime's
// RemoveDuplicateCastTransformer lets the later ones read what it read. It looks at the first Cast:
// one that keeps every value goes; one that may not goes only if a narrower type follows.
#include <array>

#include "graphs/passes/passes.h"

namespace dfsim::inline graphs {
namespace {

enum class Kind : uint8_t { kBool, kUnsigned, kSigned, kFloat };

// `bits`: those of the widest whole number that the type has without gaps.
struct Number {
  DType dtype;
  Kind kind;
  int bytes;
  int bits;
};

constexpr std::array kNumbers = {
    Number{DType::kBool, Kind::kBool, 1, 1},        Number{DType::kUInt8, Kind::kUnsigned, 1, 8},
    Number{DType::kUInt16, Kind::kUnsigned, 2, 16}, Number{DType::kUInt32, Kind::kUnsigned, 4, 32},
    Number{DType::kUInt64, Kind::kUnsigned, 8, 64}, Number{DType::kInt8, Kind::kSigned, 1, 7},
    Number{DType::kInt16, Kind::kSigned, 2, 15},    Number{DType::kInt32, Kind::kSigned, 4, 31},
    Number{DType::kInt64, Kind::kSigned, 8, 63},    Number{DType::kFloat16, Kind::kFloat, 2, 11},
    Number{DType::kFloat32, Kind::kFloat, 4, 24},   Number{DType::kFloat64, Kind::kFloat, 8, 53},
};

const Number* number_of(DType dtype) {
  for (const Number& number : kNumbers) {
    if (number.dtype == dtype) {
      return &number;
    }
  }
  return nullptr;
}

bool keeps_values(const Number& from, const Number& to) {
  if (from.kind > to.kind) {
    return false;
  }
  return from.bits <= to.bits;
}

// Where the first Cast rounds or cuts, the second must do so more.
bool narrows_further(const Number& between, const Number& to) {
  const bool becomes_real = between.kind != Kind::kFloat && to.kind == Kind::kFloat;
  return to.kind != Kind::kBool && !becomes_real && to.bytes < between.bytes;
}

bool is_cast(const Op& op) { return op.op_type == "Cast" && op.domain.empty(); }

DType result_dtype(const EditableGraph& graph, OpId cast) {
  return graph.tensor(graph.op(cast).outputs[0]).dtype;
}

// Whether each Cast that reads the result may read the operand.
bool may_skip(const EditableGraph& graph, const Op& cast) {
  const Number* from = number_of(graph.tensor(cast.inputs[0]).dtype);
  const Number* between = number_of(graph.tensor(cast.outputs[0]).dtype);
  if (from == nullptr || between == nullptr) {
    return false;
  }
  for (const OpId reader : graph.readers(cast.outputs[0])) {
    if (!is_cast(graph.op(reader))) {
      continue;
    }
    const Number* to = number_of(result_dtype(graph, reader));
    if (to == nullptr || (!keeps_values(*from, *between) && !narrows_further(*between, *to))) {
      return false;
    }
  }
  return true;
}

// Casts back to the first type go in any case, others only with the first Cast.
void skip(EditableGraph& graph, OpId id) {
  const TensorId source = graph.op(id).inputs[0];
  const TensorId between = graph.op(id).outputs[0];
  const auto reading = graph.readers(between);
  const std::vector<OpId> readers(reading.begin(), reading.end());
  std::vector<OpId> later;
  size_t gone = 0;
  for (const OpId reader : readers) {
    if (!is_cast(graph.op(reader))) {
      continue;
    }
    const TensorId result = graph.op(reader).outputs[0];
    if (graph.tensor(result).dtype == graph.tensor(source).dtype &&
        !graph.tensor(result).is_output) {
      graph.replace_reads(result, source);
      graph.remove_op(reader);
      ++gone;
    } else {
      later.push_back(reader);
    }
  }
  if (gone + later.size() < readers.size() || graph.tensor(between).is_output) {
    return;
  }
  for (const OpId reader : later) {
    graph.set_input(reader, 0, source);
  }
  graph.remove_op(id);
}

}  // namespace

void shorten_casts(EditableGraph& graph) {
  for (const OpId id : graph.ops()) {
    if (graph.alive(id) && is_cast(graph.op(id)) &&
        !graph.readers(graph.op(id).outputs[0]).empty() && may_skip(graph, graph.op(id))) {
      skip(graph, id);
    }
  }
}

}  // namespace dfsim::inline graphs
