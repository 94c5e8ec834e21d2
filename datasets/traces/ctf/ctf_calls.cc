// The calls that CUPTI numbers (cupti_runtime_cbid.h and cupti_driver_cbid.h of CUDA), as far as
// they launch, copy, wait or take memory: tracers write the number where a name should be.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "datasets/traces/ctf/ctf_points.h"

namespace dfsim::inline datasets {
namespace {

struct NumberedCall {
  uint64_t number;
  std::string_view name;
};

constexpr std::array kRuntimeCalls = {NumberedCall{13, "cudaLaunch"},
                                      NumberedCall{20, "cudaMalloc"},
                                      NumberedCall{21, "cudaMallocPitch"},
                                      NumberedCall{22, "cudaFree"},
                                      NumberedCall{23, "cudaMallocArray"},
                                      NumberedCall{24, "cudaFreeArray"},
                                      NumberedCall{25, "cudaMallocHost"},
                                      NumberedCall{26, "cudaFreeHost"},
                                      NumberedCall{27, "cudaHostAlloc"},
                                      NumberedCall{30, "cudaMemGetInfo"},
                                      NumberedCall{31, "cudaMemcpy"},
                                      NumberedCall{32, "cudaMemcpy2D"},
                                      NumberedCall{39, "cudaMemcpyToSymbol"},
                                      NumberedCall{40, "cudaMemcpyFromSymbol"},
                                      NumberedCall{41, "cudaMemcpyAsync"},
                                      NumberedCall{44, "cudaMemcpy2DAsync"},
                                      NumberedCall{47, "cudaMemcpyToSymbolAsync"},
                                      NumberedCall{48, "cudaMemcpyFromSymbolAsync"},
                                      NumberedCall{49, "cudaMemset"},
                                      NumberedCall{50, "cudaMemset2D"},
                                      NumberedCall{51, "cudaMemsetAsync"},
                                      NumberedCall{52, "cudaMemset2DAsync"},
                                      NumberedCall{126, "cudaThreadSynchronize"},
                                      NumberedCall{131, "cudaStreamSynchronize"},
                                      NumberedCall{132, "cudaStreamQuery"},
                                      NumberedCall{135, "cudaEventRecord"},
                                      NumberedCall{137, "cudaEventSynchronize"},
                                      NumberedCall{138, "cudaEventQuery"},
                                      NumberedCall{140, "cudaMalloc3D"},
                                      NumberedCall{144, "cudaMemcpy3D"},
                                      NumberedCall{145, "cudaMemcpy3DAsync"},
                                      NumberedCall{147, "cudaStreamWaitEvent"},
                                      NumberedCall{160, "cudaMemcpyPeer"},
                                      NumberedCall{161, "cudaMemcpyPeerAsync"},
                                      NumberedCall{165, "cudaDeviceSynchronize"},
                                      NumberedCall{206, "cudaMallocManaged"},
                                      NumberedCall{211, "cudaLaunchKernel"},
                                      NumberedCall{213, "cudaLaunch"},
                                      NumberedCall{214, "cudaLaunchKernel"},
                                      NumberedCall{269, "cudaLaunchCooperativeKernel"},
                                      NumberedCall{311, "cudaGraphLaunch"},
                                      NumberedCall{373, "cudaMallocAsync"},
                                      NumberedCall{375, "cudaFreeAsync"},
                                      NumberedCall{430, "cudaLaunchKernelExC"}};

constexpr std::array kDriverCalls = {NumberedCall{17, "cuCtxSynchronize"},
                                     NumberedCall{18, "cuModuleLoad"},
                                     NumberedCall{29, "cuMemAlloc"},
                                     NumberedCall{33, "cuMemFree"},
                                     NumberedCall{38, "cuMemFreeHost"},
                                     NumberedCall{39, "cuMemHostAlloc"},
                                     NumberedCall{60, "cuMemcpyHtoDAsync"},
                                     NumberedCall{62, "cuMemcpyDtoHAsync"},
                                     NumberedCall{115, "cuLaunch"},
                                     NumberedCall{116, "cuLaunchGrid"},
                                     NumberedCall{117, "cuLaunchGridAsync"},
                                     NumberedCall{119, "cuEventRecord"},
                                     NumberedCall{120, "cuEventQuery"},
                                     NumberedCall{121, "cuEventSynchronize"},
                                     NumberedCall{125, "cuStreamQuery"},
                                     NumberedCall{126, "cuStreamSynchronize"},
                                     NumberedCall{216, "cuMemsetD8Async"},
                                     NumberedCall{220, "cuMemsetD32Async"},
                                     NumberedCall{242, "cuMemGetInfo_v2"},
                                     NumberedCall{243, "cuMemAlloc_v2"},
                                     NumberedCall{245, "cuMemFree_v2"},
                                     NumberedCall{249, "cuMemsetD8_v2"},
                                     NumberedCall{251, "cuMemsetD32_v2"},
                                     NumberedCall{276, "cuMemcpyHtoD_v2"},
                                     NumberedCall{277, "cuMemcpyHtoDAsync_v2"},
                                     NumberedCall{278, "cuMemcpyDtoH_v2"},
                                     NumberedCall{279, "cuMemcpyDtoHAsync_v2"},
                                     NumberedCall{280, "cuMemcpyDtoD_v2"},
                                     NumberedCall{281, "cuMemcpyDtoDAsync_v2"},
                                     NumberedCall{294, "cuMemAllocHost_v2"},
                                     NumberedCall{295, "cuStreamWaitEvent"},
                                     NumberedCall{307, "cuLaunchKernel"}};

// "cudaLaunch" of "cudaLaunch_v3020" and "cudaMemcpyAsync" of "cudaMemcpyAsync_ptsz_v7000"; the
// driver's "cuMemAlloc_v2" is a name of its own.
std::string_view without_version(std::string_view name) {
  const size_t at = name.rfind("_v");
  const bool version = at != std::string_view::npos && name.size() - at >= 5 &&
                       std::ranges::all_of(name.substr(at + 2),
                                           [](unsigned char c) { return std::isdigit(c) != 0; });
  name = version ? name.substr(0, at) : name;
  for (const std::string_view suffix : {"_ptsz", "_ptds"}) {
    if (name.ends_with(suffix)) {
      name.remove_suffix(suffix.size());
    }
  }
  return name;
}

}  // namespace

std::string call_name(std::string_view name, bool driver) {
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) == 0) {
    return std::string(without_version(name));
  }
  const auto number = whole_number(name);
  const auto named = [&number](const auto& calls) {
    const auto found = std::ranges::find(calls, *number, &NumberedCall::number);
    return found == calls.end() ? std::string() : std::string(found->name);
  };
  if (!number) {
    return std::string(name);
  }
  std::string found = driver ? named(kDriverCalls) : named(kRuntimeCalls);
  return found.empty() ? fmt::format("{} call {}", driver ? "driver" : "runtime", *number) : found;
}

}  // namespace dfsim::inline datasets
