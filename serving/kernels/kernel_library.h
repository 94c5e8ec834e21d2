// KernelLibrary: the kernel sets that ship, found by system, framework and version.
//
// Engines' versions differ from those whose kernels were measured; the nearest measured one
// answers. A kernel that this version's tables lack is taken from the framework's other versions,
// the newest first; which ones were is on record (notes()).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "serving/kernels/kernel_set.h"

namespace dfsim::inline serving {

class KernelLibrary {
 public:
  // Loads the sets of a system ("h100_sxm") and framework ("vllm", "trtllm", "sglang"), once per
  // process and folder: later calls share them. `version` "" = the newest measured. Errors:
  // kNotFound for an unknown system or framework or when no files are installed; those of
  // decode_kernel_set().
  static StatusOr<KernelLibrary> open(const std::string& system, const std::string& framework,
                                      const std::string& version);

  const std::string& version() const { return sets_.front()->version; }  // the measured one
  const KernelGpu& gpu() const { return sets_.front()->gpu; }

  // The kernel, from the chosen version or another one. Errors: kNotFound when no version measured
  // this category.
  StatusOr<KernelCurve> curve(KernelKind kind, const std::string& category,
                              const std::vector<double>& anchor);
  // The category exists in some version.
  bool has(KernelKind kind, const std::string& category) const;
  // Held-out errors of the category in the version that answers for it; null when none does.
  const KernelErrors* errors(KernelKind kind, const std::string& category) const;
  // The names of all categories of a kind, the chosen version's first, without repeats.
  std::vector<std::string> categories(KernelKind kind) const;
  // "moe w4a16_mxfp4/balanced: kernels of vllm 0.24.0", for each that came from another version.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::vector<std::shared_ptr<const KernelSet>> sets_;  // the chosen version, then newest first
  std::vector<std::string> notes_;
};

// How far apart two versions are, and which is newer: "0.5.6.post2" is 5006, "1.2.0rc5" 1002000.
int64_t version_rank(const std::string& version);

}  // namespace dfsim::inline serving
