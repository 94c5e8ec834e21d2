#include "graphs/training/training_names.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace dfsim::inline graphs {
namespace {

constexpr std::array<std::string_view, 4> kOptimizers = {"sgd", "momentum", "adam", "none"};
constexpr std::array<std::string_view, 3> kUpdateKernels = {"per-weight", "foreach", "fused"};
constexpr std::array<std::string_view, 3> kLosses = {"elementwise", "cross-entropy", "mse"};
constexpr std::array<std::string_view, 3> kRecomputes = {"none", "selective", "full"};
constexpr std::array<std::string_view, 5> kPasses = {"forward", "recompute", "backward", "reduce",
                                                     "update"};
template <size_t N>
std::vector<std::string> names_of(const std::array<std::string_view, N>& names) {
  return {names.begin(), names.end()};
}

template <typename Enum, size_t N>
StatusOr<Enum> find_name(std::string_view kind, const std::array<std::string_view, N>& names,
                         const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    return invalid_input(unknown_name_message(kind, name, names_of(names)));
  }
  return static_cast<Enum>(found - names.begin());
}

}  // namespace

std::vector<std::string> optimizer_names() { return names_of(kOptimizers); }
std::vector<std::string> recompute_names() { return names_of(kRecomputes); }
std::vector<std::string> update_kernel_names() { return names_of(kUpdateKernels); }
std::vector<std::string> loss_names() { return names_of(kLosses); }

StatusOr<OptimizerKind> optimizer_of(const std::string& name) {
  return find_name<OptimizerKind>("optimizer", kOptimizers, name);
}
StatusOr<Recompute> recompute_of(const std::string& name) {
  return find_name<Recompute>("recomputation", kRecomputes, name);
}
StatusOr<UpdateKernels> update_kernels_of(const std::string& name) {
  return find_name<UpdateKernels>("kind of update kernels", kUpdateKernels, name);
}
StatusOr<LossKind> loss_of(const std::string& name) {
  return find_name<LossKind>("loss", kLosses, name);
}
std::string_view optimizer_name(OptimizerKind optimizer) {
  return kOptimizers[static_cast<size_t>(optimizer)];
}
std::string_view recompute_name(Recompute recompute) {
  return kRecomputes[static_cast<size_t>(recompute)];
}
std::string_view training_pass_name(TrainingPass pass) {
  return kPasses[static_cast<size_t>(pass)];
}

}  // namespace dfsim::inline graphs
