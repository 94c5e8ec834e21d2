// One line for every operator: what its rules make of its case in op_row_cases.cc, or of plain
// operands when it has none. A new operator needs a line, and a changed rule shows as a changed
// line.
//
// DFSIM_UPDATE_OP_ROWS=1 build/release/tests/ops/test_ops "Operators: *" regenerates op_rows.txt.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "graphs/ops/op_def.h"
#include "tests/ops/op_case.h"
#include "tests/ops/op_row_cases.h"

namespace dfsim {
namespace {

constexpr const char* kOpRowsFile = DFSIM_SOURCE_DIR "/tests/ops/op_rows.txt";

// Operands to try, the first of an operator and all the others. The first pair that an operator
// takes is the one that its line is about.
struct PlainOperands {
  Operand first;
  Operand others;
};

std::vector<PlainOperands> plain_operands() {
  return {{operand({2, 4, 6, 8}), operand({2, 4, 6, 8})},
          {operand({2, 4, 6, 8}), weight({4, 4, 3, 3})},
          {operand({2, 4, 6, 8}), weight({8, 4})},
          {operand({2, 4, 6, 8}), weight({4})},
          {operand({2, 4, 6, 8}), scalar_int(2)},
          {operand({2, 4, 6, 8}), ints({1, 2})},
          {operand({2, 4, 6, 8}), ints({1, 2, 3, 4})},
          {operand({6, 8}), operand({6, 8})},
          {operand({6, 8}), scalar_int(1)},
          {operand({4, 4}), operand({4, 4})},
          {operand({2, 6, 8}), weight({1, 24, 8})},
          {operand({8}), operand({8})},
          {operand({2, 4, 6, 8}, DType::kInt64), operand({6, 8})},
          {ints({2, 3, 4}), ints({2, 3, 4})},
          {ints({2, 3, 4}), operand({4})},
          {scalar_int(4), scalar_int(2)},
          {operand({3}, DType::kString), operand({3}, DType::kString)}};
}

std::string text_of(const Operand& operand) {
  return operand.ints.empty() ? format_shape(operand.shape)
                              : fmt::format("[{}]", fmt::join(operand.ints, ","));
}

std::string text_of(const std::string& name, const AttrValue& value) {
  if (const auto* one = std::get_if<int64_t>(&value)) {
    return fmt::format("{}={}", name, *one);
  }
  if (const auto* words = std::get_if<std::string>(&value)) {
    return fmt::format("{}={}", name, *words);
  }
  if (const auto* many = std::get_if<Ints>(&value)) {
    return fmt::format("{}=[{}]", name, fmt::join(*many, ","));
  }
  return name;  // a subgraph, or a list whose length alone counts
}

// "Type(attributes): operands -> outputs; work"; of an op whose shape is in the data, the reason.
std::string line_of(const std::string& name, const OpCase& example, const OpOutcome& outcome) {
  std::string attributes;
  for (const auto& [key, value] : example.attributes) {
    attributes += (attributes.empty() ? "(" : " ") + text_of(key, value);
  }
  std::string line = name + (attributes.empty() ? "" : attributes + ")") + ":";
  for (const Operand& input : example.inputs) {
    line += " " + (input.absent ? "-" : text_of(input));
  }
  if (!outcome.unresolved.empty()) {
    return line + " -> unresolved: " + outcome.unresolved[0].reason;
  }
  line += " ->";
  for (size_t i = 0; i < example.outputs; ++i) {
    line += " " + outcome.shape(i);
  }
  const OpWork work = outcome.work();
  return line + fmt::format("; {} macs, {} flops, {} read, {} written", work.macs, work.flops,
                            work.bytes_read, work.bytes_written);
}

std::string line_of(const OpDef& def) {
  const std::string name =
      fmt::format("{}{}{}", def.domain, def.domain.empty() ? "" : "::", def.op_type);
  if (const auto own = own_op_cases().find(name); own != own_op_cases().end()) {
    const OpOutcome outcome = infer(own->second);
    INFO(name << ": " << outcome.status.message());
    CHECK(outcome.status.ok());
    return outcome.status.ok() ? line_of(name, own->second, outcome) : name;
  }
  for (const PlainOperands& plain : plain_operands()) {
    OpCase example{std::string(def.op_type), {}, {}, 17, 1, std::string(def.domain)};
    for (size_t i = 0; i < def.required_inputs; ++i) {
      example.inputs.push_back(i == 0 ? plain.first : plain.others);
    }
    const OpOutcome outcome = infer(example);
    if (outcome.status.ok() && outcome.unresolved.empty()) {
      return line_of(name, example, outcome);
    }
  }
  return name;
}

// Operators whose shapes are in the data: a picture, keys of a dictionary.
const std::set<std::string> kShapeInData = {"ImageDecoder", "ai.onnx.ml::CastMap",
                                            "ai.onnx.ml::DictVectorizer"};

TEST_CASE("Operators: each has operands and attributes that exercise its rules") {
  for (const OpDef* def : all_op_defs()) {
    const std::string line = line_of(*def);
    const std::string name = line.substr(0, std::min(line.find_first_of("( "), line.size()));
    INFO(line << " (add a case to op_row_cases.cc)");
    const bool resolved =
        line.find(" -> ") != std::string::npos && line.find(" -> unresolved") == std::string::npos;
    CHECK(resolved == (kShapeInData.count(name.substr(0, name.find_last_not_of(':') + 1)) == 0));
  }
  for (const auto& [name, example] : own_op_cases()) {
    INFO(name);
    CHECK(find_op_def(example.domain, example.op_type) != nullptr);
  }
}

TEST_CASE("Operators: every operator has a line in op_rows.txt with the results of its rules") {
  std::string lines;
  for (const OpDef* def : all_op_defs()) {
    lines += line_of(*def) + "\n";
  }
  if (std::getenv("DFSIM_UPDATE_OP_ROWS") != nullptr) {
    std::ofstream(kOpRowsFile) << lines;
  }
  std::stringstream kept;
  kept << std::ifstream(kOpRowsFile).rdbuf();
  std::stringstream now(lines);
  std::string expected;
  std::string found;
  while (std::getline(now, found)) {
    expected.clear();
    std::getline(kept, expected);
    CHECK(found == expected);
  }
  CHECK_FALSE(std::getline(kept, expected));
}

}  // namespace
}  // namespace dfsim
