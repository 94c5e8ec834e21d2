// One line for every operator: what its rules make of plain operands. A new operator needs a line,
// and a changed rule shows as a changed line.
//
// DFSIM_UPDATE_OP_ROWS=1 build/release/tests/ops/test_ops "Operators: *" writes op_rows.txt anew.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "graphs/ops/op_def.h"
#include "tests/ops/op_case.h"

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

std::string line_of(const OpDef& def) {
  const std::string name =
      fmt::format("{}{}{}", def.domain, def.domain.empty() ? "" : "::", def.op_type);
  for (const PlainOperands& plain : plain_operands()) {
    OpCase example{std::string(def.op_type), {}, {}, 17, 1, std::string(def.domain)};
    for (size_t i = 0; i < def.required_inputs; ++i) {
      example.inputs.push_back(i == 0 ? plain.first : plain.others);
    }
    const OpOutcome outcome = infer(example);
    if (!outcome.status.ok() || !outcome.unresolved.empty()) {
      continue;
    }
    std::string inputs;
    for (const Operand& input : example.inputs) {
      inputs += fmt::format("{}{}", inputs.empty() ? "" : " ", text_of(input));
    }
    const OpWork work = outcome.work();
    return fmt::format("{}: {} -> {}; {} macs, {} flops, {} read, {} written", name, inputs,
                       outcome.shape(), work.macs, work.flops, work.bytes_read, work.bytes_written);
  }
  return fmt::format("{}: needs attributes or operands of its own", name);
}

TEST_CASE("Operators: every one has a line in op_rows.txt, which says what its rules give") {
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
