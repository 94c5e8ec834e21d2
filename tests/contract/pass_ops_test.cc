// Plans can split each operator that the passes name, or a reason is written down here.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "graphs/ops/op_def.h"

namespace dfsim {
namespace {

// Operators that dfsim does not split, and why.
const std::map<std::string, std::string>& reasons() {
  static const std::string kLists = "lists of tensors stay whole";
  static const std::string kSize = "its result is known, or a number per tensor";
  static const std::string kNamed = "passes recognise it in files and make none";
  static const std::string kGraph = "it runs a graph of its own";
  static const std::map<std::string, std::string> kReasons = {
      {"DynamicQuantizeLinear", "the range of the whole tensor decides about its scale"},
      {"EmbedLayerNormalization", kNamed},
      {"SkipGroupNorm", kNamed},
      {"QEmbedLayerNormalization", kNamed},
      {"GatherBlockQuantized", kNamed},
      {"MatMulBnb4", kNamed},
      {"Compress", kNamed},
      {"DeformConv", kNamed},
      {"GridSample", kNamed},
      {"Multinomial", kNamed},
      {"NonMaxSuppression", kNamed},
      {"NonZero", kNamed},
      {"SparseAttention", kNamed},
      {"TensorScatter", kNamed},
      {"Shape", kSize},
      {"Size", kSize},
      {"Range", kSize},
      {"ConstantOfShape", kSize},
      {"EyeLike", kSize},
      {"SequenceConstruct", kLists},
      {"SequenceEmpty", kLists},
      {"SequenceAt", kLists},
      {"SequenceInsert", kLists},
      {"SequenceErase", kLists},
      {"SequenceLength", kLists},
      {"SplitToSequence", kLists},
      {"ConcatFromSequence", kLists},
      {"SequenceMap", kGraph},
      {"If", kGraph},
      {"Loop", kGraph},
      {"Scan", kGraph},
  };
  return kReasons;
}

// Literals of the passes' sources, and the names that passes make of them.
std::set<std::string> names_in_passes() {
  std::set<std::string> names;
  const std::regex literal("\"([A-Za-z0-9]+)\"");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           std::string(DFSIM_SOURCE_DIR) + "/graphs/passes")) {
    if (entry.path().extension() != ".cc" && entry.path().extension() != ".inc") {
      continue;
    }
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    const std::string source = text.str();
    for (std::sregex_iterator it(source.begin(), source.end(), literal), end; it != end; ++it) {
      for (const std::string prefix : {"", "QLinear", "Nhwc"}) {
        names.insert(prefix + (*it)[1].str());
      }
    }
  }
  return names;
}

TEST_CASE("Passes: plans can split the operators that passes name, or a reason is given") {
  const std::set<std::string> named = names_in_passes();
  REQUIRE(named.contains("FusedMatMul"));
  for (const OpDef* def : all_op_defs()) {
    const std::string domain(def->domain);
    const bool runtime = domain.empty() || domain.starts_with("com.microsoft") ||
                         domain == "aten" || domain == "compiled";
    const std::string type(def->op_type);
    if (!runtime || !named.contains(type)) {
      continue;
    }
    INFO(domain << "::" << type);
    const bool splits = def->factors != nullptr || def->op_class == OpClass::kElementwise;
    CHECK((splits || reasons().contains(type)));
  }
}

}  // namespace
}  // namespace dfsim
