// Matrix products: MatMul, Gemm, Einsum and their integer forms.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/text.h"
#include "graphs/ops/factors/factor_rules.h"
#include "graphs/ops/op_families.h"
#include "graphs/ops/rules.h"

namespace dfsim::inline graphs {

StatusOr<Shape> matmul_shape(const InferContext& context, const Shape& a, const Shape& b) {
  if (!a.has_rank() || !b.has_rank()) {
    return Shape();
  }
  if (a.rank() == 0 || b.rank() == 0) {
    return context.error("an operand is a scalar; expected rank 1 or more");
  }
  const Dim ka = a[a.rank() - 1];
  const Dim kb = b[b.rank() == 1 ? 0 : b.rank() - 2];
  if (ka.known() && kb.known() && ka != kb) {
    return context.error(fmt::format("shapes {} and {} do not match: {} columns meet {} rows",
                                     format_shape(a), format_shape(b), ka.extent(), kb.extent()));
  }
  const auto batch_of = [](const Shape& shape) {
    Dims dims = shape.dims();
    dims.resize(static_cast<size_t>(std::max(0, shape.rank() - 2)));
    return Shape(std::move(dims));
  };
  std::string conflict;
  const Shape batch = broadcast_shapes(batch_of(a), batch_of(b), &conflict);
  if (!conflict.empty()) {
    return context.error(conflict);
  }
  Dims dims = batch.dims();
  if (a.rank() > 1) {
    dims.push_back(a[a.rank() - 2]);
  }
  if (b.rank() > 1) {
    dims.push_back(b[b.rank() - 1]);
  }
  return Shape(std::move(dims));
}

namespace {

Status infer_matmul_at(InferContext& context, size_t a, size_t b, DType dtype) {
  DFSIM_ASSIGN_OR_RETURN(Shape shape, matmul_shape(context, context.shape(a), context.shape(b)));
  if (shape.has_rank()) {
    context.set_output(0, dtype, std::move(shape));
  }
  return ok_status();
}

Status infer_matmul(InferContext& context) {
  return infer_matmul_at(context, 0, 1, context.dtype(0));
}
Status infer_matmul_integer(InferContext& context) {
  return infer_matmul_at(context, 0, 1, DType::kInt32);
}
Status infer_qlinear_matmul(InferContext& context) {
  // a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point
  return infer_matmul_at(context, 0, 3, context.dtype(7));
}

Status infer_gemm(InferContext& context) {
  const Shape& a = context.shape(0);
  const Shape& b = context.shape(1);
  if (!a.has_rank() || !b.has_rank()) {
    return ok_status();
  }
  if (a.rank() != 2 || b.rank() != 2) {
    return context.error(
        fmt::format("shapes {} and {}: expected two matrices", format_shape(a), format_shape(b)));
  }
  const bool trans_a = context.attributes().int_or("transA", 0) != 0;
  const bool trans_b = context.attributes().int_or("transB", 0) != 0;
  const Dim ka = a[trans_a ? 0 : 1];
  const Dim kb = b[trans_b ? 1 : 0];
  if (ka.known() && kb.known() && ka != kb) {
    return context.error(fmt::format("shapes {} and {} do not match: {} meets {}", format_shape(a),
                                     format_shape(b), ka.extent(), kb.extent()));
  }
  context.set_output(0, context.dtype(0), Shape({a[trans_a ? 1 : 0], b[trans_b ? 0 : 1]}));
  return ok_status();
}

// MACs = elements of the output x length of the contracted dimension.
void matmul_macs(WorkContext& context, Dim contracted) {
  context.add_macs(context.output(0).shape.elements() * Count(contracted.extent()));
  context.set_matrix();
}

void work_matmul(WorkContext& context) {
  const Shape& a = context.input(0).shape;
  matmul_macs(context, a[a.rank() - 1]);
}

void work_matmul_integer(WorkContext& context) {
  work_matmul(context);
  context.set_dtype(DType::kInt8);
}

void work_qlinear_matmul(WorkContext& context) {
  work_matmul_integer(context);
  context.add_flops(context.output(0).shape.elements(), 2);  // requantise: scale and round
}

void work_gemm(WorkContext& context) {
  const bool trans_a = context.op().attributes.int_or("transA", 0) != 0;
  matmul_macs(context, context.input(0).shape[trans_a ? 0 : 1]);
  if (context.has_input(2)) {
    context.add_flops(context.output(0).shape.elements());
  }
}

// An einsum equation split into its operands' labels. Ellipses become upper-bound letters.
struct Equation {
  std::vector<std::string> operands;
  std::string output;
};

constexpr char kEllipsis = '.';  // one '.' stands for all broadcast axes

// Removes blanks and turns "..." into one '.'; derives an implicit output.
std::optional<Equation> parse_equation(const std::string& text) {
  std::string clean;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 3, "...") == 0) {
      clean += kEllipsis;
      i += 2;
    } else if (text[i] != ' ') {
      clean += text[i];
    }
  }
  const size_t arrow = clean.find("->");
  Equation equation;
  std::string left = clean.substr(0, arrow);
  size_t start = 0;
  for (size_t end = left.find(','); end != std::string::npos; end = left.find(',', start)) {
    equation.operands.push_back(left.substr(start, end - start));
    start = end + 1;
  }
  equation.operands.push_back(left.substr(start));
  std::map<char, int> uses;
  for (const std::string& operand : equation.operands) {
    for (const char label : operand) {
      if (label != kEllipsis && std::isalpha(static_cast<unsigned char>(label)) == 0) {
        return std::nullopt;
      }
      ++uses[label];
    }
  }
  if (arrow != std::string::npos) {
    equation.output = clean.substr(arrow + 2);
  } else {
    for (const auto& [label, count] : uses) {
      if (count == 1 || label == kEllipsis) {
        equation.output += label;
      }
    }
  }
  return equation;
}

// The extent of each label, and the broadcast axes behind the ellipsis.
struct Labels {
  std::map<char, Dim> extents;
  Shape ellipsis = Shape::scalar();
};

StatusOr<Labels> bind_labels(const Equation& equation, const std::vector<Shape>& shapes,
                             const std::function<Status(const std::string&)>& error) {
  Labels labels;
  for (size_t i = 0; i < equation.operands.size(); ++i) {
    const std::string& operand = equation.operands[i];
    const bool has_ellipsis = operand.find(kEllipsis) != std::string::npos;
    const int named = static_cast<int>(operand.size()) - (has_ellipsis ? 1 : 0);
    const int hidden = shapes[i].rank() - named;
    if (hidden < 0 || (!has_ellipsis && hidden > 0)) {
      return error(fmt::format("operand {} of shape {} does not fit the labels '{}'", i,
                               format_shape(shapes[i]), operand));
    }
    int axis = 0;
    for (const char label : operand) {
      if (label == kEllipsis) {
        Dims dims;
        for (int h = 0; h < hidden; ++h) {
          dims.push_back(shapes[i][axis++]);
        }
        std::string conflict;
        labels.ellipsis = broadcast_shapes(labels.ellipsis, Shape(std::move(dims)), &conflict);
        if (!conflict.empty()) {
          return error(conflict);
        }
        continue;
      }
      const Dim dim = shapes[i][axis++];
      Dim& bound = labels.extents.try_emplace(label, dim).first->second;
      if (bound.known() && dim.known() && bound != dim && bound != Dim(1) && dim != Dim(1)) {
        return error(
            fmt::format("label '{}' is both {} and {}", label, bound.extent(), dim.extent()));
      }
      bound = bound.known() && bound != Dim(1) ? bound : dim;
    }
  }
  return labels;
}

Status infer_einsum(InferContext& context) {
  const std::string text = context.attributes().string_or("equation", "");
  const auto equation = parse_equation(text);
  if (!equation || equation->operands.size() != context.input_count()) {
    return context.error(fmt::format("equation '{}' does not fit {} operands", printable(text),
                                     context.input_count()));
  }
  std::vector<Shape> shapes;
  for (size_t i = 0; i < context.input_count(); ++i) {
    if (!context.shape(i).has_rank()) {
      return ok_status();
    }
    shapes.push_back(context.shape(i));
  }
  DFSIM_ASSIGN_OR_RETURN(
      const Labels labels,
      bind_labels(*equation, shapes, [&](const std::string& m) { return context.error(m); }));
  Dims dims;
  for (const char label : equation->output) {
    if (label == kEllipsis) {
      dims.insert(dims.end(), labels.ellipsis.dims().begin(), labels.ellipsis.dims().end());
      continue;
    }
    const auto it = labels.extents.find(label);
    if (it == labels.extents.end()) {
      return context.error(fmt::format("output label '{}' of '{}' is in no operand",
                                       printable(std::string(1, label)), printable(text)));
    }
    dims.push_back(it->second);
  }
  context.set_output(0, context.dtype(0), Shape(std::move(dims)));
  return ok_status();
}

// MACs of a two-operand einsum: the product of all labels' extents. With one operand it only moves
// or sums; with more than two the operands are contracted from left to right.
void work_einsum(WorkContext& context) {
  const auto equation = parse_equation(context.op().attributes.string_or("equation", ""));
  std::vector<Shape> shapes;
  for (size_t i = 0; i < context.op().inputs.size(); ++i) {
    shapes.push_back(context.input(i).shape);
  }
  const auto labels =
      bind_labels(*equation, shapes, [](const std::string& m) { return invalid_input(m); });
  if (!labels.ok()) {
    return;
  }
  Count volume = labels->ellipsis.elements();
  for (const auto& [label, dim] : labels->extents) {
    volume *= Count(dim.extent());
  }
  if (shapes.size() == 1) {
    context.add_flops(volume);
    return;
  }
  for (size_t i = 1; i < shapes.size(); ++i) {
    context.add_macs(volume);
  }
  context.set_matrix();
}

// Every letter is a factor: parallel when the output has it, else contracted.
void factors_einsum(FactorContext& context) {
  const auto equation = parse_equation(context.attributes().string_or("equation", ""));
  std::map<char, int> letters;
  int hidden = 0;  // axes behind the ellipsis
  for (size_t i = 0; i < equation->operands.size(); ++i) {
    const std::string& operand = equation->operands[i];
    if (operand.find(kEllipsis) != std::string::npos) {
      hidden = std::max(hidden, context.input(i).rank() - static_cast<int>(operand.size()) + 1);
    }
  }
  std::vector<int> ellipsis(static_cast<size_t>(hidden), FactorDim::kWhole);
  const auto visit = [&](const std::string& operand, const Shape& shape, const auto& see) {
    int dim = 0;
    for (const char letter : operand) {
      if (letter != kEllipsis) {
        see(letter, -1, dim++);
        continue;
      }
      const int own = shape.rank() - static_cast<int>(operand.size()) + 1;
      for (int k = 0; k < own; ++k) {
        see(letter, hidden - own + k, dim++);
      }
    }
  };
  const auto repeated = [&](char letter) {
    return std::any_of(equation->operands.begin(), equation->operands.end(),
                       [&](const auto& o) { return std::count(o.begin(), o.end(), letter) > 1; });
  };
  for (size_t i = 0; i < equation->operands.size(); ++i) {
    visit(equation->operands[i], context.input(i), [&](char letter, int axis, int dim) {
      const int64_t extent = context.in_extent(i, dim);
      int* factor = axis >= 0 ? &ellipsis[static_cast<size_t>(axis)]
                              : &letters.try_emplace(letter, FactorDim::kWhole).first->second;
      const bool kept = equation->output.find(letter) != std::string::npos;
      if (*factor == FactorDim::kWhole && (axis >= 0 || !repeated(letter))) {
        const std::string label =
            axis >= 0 ? fmt::format("ellipsis{}", axis) : std::string(1, letter);
        *factor = context.add(label, extent, kept ? Reduction::kNone : Reduction::kSum);
      }
      if (extent > 1) {
        context.carry_in(i, dim, *factor);
      }
    });
  }
  visit(equation->output, context.output(0), [&](char letter, int axis, int dim) {
    context.carry_out(0, dim, axis >= 0 ? ellipsis[static_cast<size_t>(axis)] : letters[letter]);
  });
}

// clang-format off
constexpr OpDef kMatmulOps[] = {
    {.op_type = "MatMul", .op_class = OpClass::kMatMul, .infer = infer_matmul, .work = work_matmul,
     .required_inputs = 2, .factors = factors_matmul},
    {.op_type = "Gemm", .op_class = OpClass::kMatMul, .infer = infer_gemm, .work = work_gemm,
     .required_inputs = 2, .factors = factors_gemm},
    {.op_type = "Einsum", .op_class = OpClass::kMatMul, .infer = infer_einsum, .work = work_einsum,
     .factors = factors_einsum},
    {.op_type = "MatMulInteger", .op_class = OpClass::kMatMul, .infer = infer_matmul_integer,
     .work = work_matmul_integer, .required_inputs = 2, .factors = factors_matmul_integer},
    {.op_type = "QLinearMatMul", .op_class = OpClass::kMatMul, .infer = infer_qlinear_matmul,
     .work = work_qlinear_matmul, .required_inputs = 8, .factors = factors_matmul_integer},
};
// clang-format on

constexpr WorkNote kMatmulNotes[] = {
    {work_matmul, "MACs = output elements x contracted length"},
    {work_matmul_integer, "as MatMul, on 8-bit integers"},
    {work_qlinear_matmul, "as MatMul on 8-bit integers; 2 per output element to requantise"},
    {work_gemm, "MACs = output elements x contracted length; 1 per output element with C"},
    {work_einsum, "MACs = product of the extents of all labels"},
};

}  // namespace

OpFamily matmul_op_defs() { return {kMatmulOps, kMatmulNotes}; }

}  // namespace dfsim::inline graphs
