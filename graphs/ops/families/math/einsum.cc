// Einsum: any number of operands whose axes have letters.
//
// Runtimes contract pair by pair from the left: letters that only one operand of the pair has and
// no later pair needs are summed first, then the pair is one batched matrix product.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "base/text.h"
#include "graphs/ops/factors/factor_rules.h"
#include "graphs/ops/op_families.h"
#include "graphs/ops/rules.h"
#include "graphs/ops/values/fold.h"

namespace dfsim::inline graphs {
namespace {

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

// The labels of one tensor on the way, each once; the ellipsis is one of them.
std::string distinct_labels(const std::string& labels) {
  std::string distinct = labels;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  return distinct;
}

Count label_volume(const Labels& labels, const std::string& distinct) {
  Count volume(1);
  for (const char label : distinct) {
    volume *=
        label == kEllipsis ? labels.ellipsis.elements() : Count(labels.extents.at(label).extent());
  }
  return volume;
}

bool is_needed_after(const Equation& equation, size_t operand, char label) {
  const auto has = [label](const std::string& text) {
    return text.find(label) != std::string::npos;
  };
  return has(equation.output) ||
         std::any_of(equation.operands.begin() + static_cast<std::ptrdiff_t>(operand) + 1,
                     equation.operands.end(), has);
}

// Drops labels for which `drop` holds; tells whether there were any.
template <typename Drop>
bool drop_labels(std::string* labels, Drop drop) {
  return std::erase_if(*labels, drop) > 0;
}

// With one operand it only moves or sums; else pairs are contracted from left to right.
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
  std::string left = distinct_labels(equation->operands[0]);
  if (shapes.size() == 1) {
    context.add_flops(label_volume(*labels, left));
    return;
  }
  for (size_t i = 1; i < shapes.size(); ++i) {
    std::string right = distinct_labels(equation->operands[i]);
    const auto only_in = [&](const std::string& other) {
      return [&, other](char label) {
        return other.find(label) == std::string::npos && !is_needed_after(*equation, i, label);
      };
    };
    const Count left_before = label_volume(*labels, left);
    const Count right_before = label_volume(*labels, right);
    const std::string whole_left = left;
    if (drop_labels(&left, only_in(right))) {
      context.add_flops(left_before);
    }
    if (drop_labels(&right, only_in(whole_left))) {
      context.add_flops(right_before);
    }
    left += right;
    left = distinct_labels(left);
    context.add_macs(label_volume(*labels, left));
    drop_labels(&left, [&](char label) { return !is_needed_after(*equation, i, label); });
  }
  context.set_matrix();
}

// The positions in an operand for each index of the loop over all labels.
std::vector<int64_t> operand_positions(const std::string& operand, const Extents& extents,
                                       const Extents& loop,
                                       const std::map<char, size_t>& first_axis, int hidden_axes) {
  const Extents own = row_major_strides(extents);
  Extents strides(loop.size(), 0);
  const size_t hidden = extents.size() + 1 - operand.size();  // axes behind its ellipsis
  size_t axis = 0;
  for (const char label : operand) {
    const size_t count = label == kEllipsis ? hidden : 1;
    const size_t skipped = label == kEllipsis ? static_cast<size_t>(hidden_axes) - hidden : 0;
    for (size_t k = 0; k < count; ++k, ++axis) {
      strides[first_axis.at(label) + skipped + k] += extents[axis] != 1 ? own[axis] : 0;
    }
  }
  return strided_positions(loop, strides, 0);
}

// Sums the products of all operands over every index of all labels.
void fold_einsum(InferContext& context) {
  constexpr int64_t kMaxVolume = int64_t{1} << 18;
  const auto equation = parse_equation(context.attributes().string_or("equation", ""));
  const auto out_extents = small_extents(context, 0);
  std::vector<Shape> shapes;
  for (size_t i = 0; i < context.input_count(); ++i) {
    if (context.value(i) == nullptr || context.dtype(i) != context.dtype(0)) {
      return;
    }
    shapes.push_back(context.shape(i));
  }
  if (!equation || !out_extents || !has_arithmetic(context.dtype(0))) {
    return;
  }
  const auto labels =
      bind_labels(*equation, shapes, [](const std::string& m) { return invalid_input(m); });
  if (!labels.ok()) {
    return;
  }
  // Axes of the loop: the output's first, so that each output element is one row of the rest.
  std::string order = equation->output;
  for (const auto& [label, dim] : labels->extents) {
    if (order.find(label) == std::string::npos) {
      order += label;
    }
  }
  if (labels->ellipsis.rank() > 0 && order.find(kEllipsis) == std::string::npos) {
    order += kEllipsis;
  }
  Extents loop;
  std::map<char, size_t> first_axis;
  for (const char label : order) {
    first_axis.emplace(label, loop.size());
    if (label == kEllipsis) {
      const Extents hidden = labels->ellipsis.extents();
      loop.insert(loop.end(), hidden.begin(), hidden.end());
    } else {
      loop.push_back(labels->extents.at(label).extent());
    }
  }
  const Count volume = Shape::of(loop).elements();
  if (volume.overflowed() || volume.value() > kMaxVolume || volume.value() == 0) {
    return;
  }
  std::vector<std::vector<int64_t>> positions;
  for (size_t i = 0; i < shapes.size(); ++i) {
    positions.push_back(operand_positions(equation->operands[i], shapes[i].extents(), loop,
                                          first_axis, labels->ellipsis.rank()));
  }
  const auto outputs = static_cast<size_t>(small_product(*out_extents));
  const size_t run = positions[0].size() / std::max<size_t>(outputs, 1);
  ConstValue out = empty_value(context.dtype(0), *out_extents);
  for (size_t row = 0; row < outputs; ++row) {
    double sum = 0;
    for (size_t k = row * run; k < (row + 1) * run; ++k) {
      double product = 1;
      for (size_t i = 0; i < positions.size(); ++i) {
        product *= context.value(i)->as_double(static_cast<size_t>(positions[i][k]));
      }
      sum += product;
    }
    constexpr double kExact = 9007199254740992;  // 2^53
    if (std::abs(sum) > kExact && !is_floating(out.dtype)) {
      return;
    }
    append_double(&out, sum);
  }
  context.set_value(0, std::move(out));
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
constexpr OpDef kEinsumOps[] = {
    {.op_type = "Einsum", .op_class = OpClass::kMatMul, .infer = infer_einsum, .work = work_einsum,
     .fold = fold_einsum, .factors = factors_einsum},
};
// clang-format on

constexpr WorkNote kEinsumNotes[] = {
    {work_einsum, "pairs from the left: MACs = product of the extents of the pair's labels"},
};

}  // namespace

OpFamily einsum_op_defs() { return {kEinsumOps, kEinsumNotes}; }

}  // namespace dfsim::inline graphs
