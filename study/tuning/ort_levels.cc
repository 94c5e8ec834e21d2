// The levels follow ONNX Runtime's graph_transformer_utils.cc. Releases move single passes between
// them, which changes little: the blocks of channels of the last level make most of the difference.
#include "study/tuning/ort_levels.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace dfsim::inline study {
namespace {

constexpr int kBasic = 1;

struct PassLevel {
  std::string_view pass;
  int level;
};

// Passes that are not here belong to the extended level.
constexpr std::array kLevels = {
    PassLevel{"hard-swish", 0},   // no kernel
    PassLevel{"ort-einsum", 0},   // inside its kernel
    PassLevel{"cast-chains", 0},  // always runs
    PassLevel{"no-ops", kBasic},     PassLevel{"common-subexpressions", kBasic},
    PassLevel{"pad-fold", kBasic},   PassLevel{"conv-fold", kBasic},
    PassLevel{"matmul-add", kBasic}, PassLevel{"merge-reshapes", kBasic},
    PassLevel{"transposes", kBasic}, PassLevel{"not-where", kBasic},
    PassLevel{"nhwc-int8", kOrtAll}, PassLevel{"nchwc-8", kOrtAll},
    PassLevel{"nchwc-16", kOrtAll},  PassLevel{"conv-sum", kOrtAll},
};

int level_of(std::string_view pass) {
  const auto* const found = std::ranges::find(kLevels, pass, &PassLevel::pass);
  return found == kLevels.end() ? kOrtExtended : found->level;
}

}  // namespace

void limit_ort_level(int level, RuntimeSpec* runtime) {
  runtime->fold_constants = runtime->fold_constants && level >= kBasic;
  // "" separates stages.
  std::erase_if(runtime->fusions, [level](const std::string& pass) {
    return !pass.empty() && level_of(pass) > level;
  });
}

}  // namespace dfsim::inline study
