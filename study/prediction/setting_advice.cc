// Advice on a prediction: the same model with other settings, each with its own prediction.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "base/text.h"
#include "graphs/passes/layout/split_weights.h"
#include "hardware/builtin_files.h"
#include "hardware/platform_loader.h"
#include "study/chain/precision_choice.h"
#include "study/prediction/setting_advice.h"

namespace dfsim::inline study {
namespace {

constexpr double kUsableShare = 0.9;   // of the device's
constexpr double kWorthFusing = 0.02;  // of the device's time
constexpr double kWorthMoving = 0.1;   // the same
constexpr int64_t kMostPredictedBatches = 64;
constexpr std::string_view kRecomputations[] = {"none", "selective", "full"};

// Settings to try, and the advice to print when they bring something.
struct Variant {
  std::string kind;
  std::string insight;
  std::string action;
  PredictOptions options;
  int64_t batches = 1;  // how many times the samples of the run
  bool must_fit = false;
};

struct AdviceContext {
  const PredictOptions& options;
  const Prediction& prediction;
};

double in_us(TimeNs time_ns) { return static_cast<double>(time_ns) / kNsPerUs; }

std::string percent_of(TimeNs part_ns, TimeNs whole_ns) {
  return fmt::format(
      "{:.0f} %",
      whole_ns > 0 ? 100.0 * static_cast<double>(part_ns) / static_cast<double>(whole_ns) : 0.0);
}

std::string samples(int64_t count) {
  return count == 1 ? std::string("sample") : fmt::format("{} samples", count);
}

Variant plain(const AdviceContext& context, std::string kind) {
  Variant variant;
  variant.kind = std::move(kind);
  variant.options = context.options;
  variant.options.requests = 0;
  variant.options.repeat = 0;
  variant.options.advice = false;
  variant.options.fit_advice = false;
  variant.options.verdict_change = false;
  variant.options.record = nullptr;
  variant.must_fit = context.prediction.peak_memory_bytes <= context.prediction.memory_bytes;
  return variant;
}

TimeNs time_of_class(const Prediction& prediction, std::string_view name) {
  const auto it = std::ranges::find(prediction.classes, name, &Share::name);
  return it == prediction.classes.end() ? 0 : it->time_ns;
}

bool on_matrix_units(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBFloat16 || dtype == DType::kTFloat32;
}

// Convolutions on matrix units convert images whose channels come first.
void add_layout(const AdviceContext& context, std::vector<Variant>* variants) {
  const Prediction& p = context.prediction;
  const TimeNs conv_ns = time_of_class(p, "conv");
  if (p.device_type != DeviceType::kGpu || !p.runtime.starts_with("torch-eager") ||
      !on_matrix_units(p.main_dtype) ||
      static_cast<double>(conv_ns) < kWorthMoving * static_cast<double>(p.device_busy_ns)) {
    return;
  }
  Variant last = plain(context, "layout");
  last.insight = fmt::format(
      "convolutions in {} take {} of the device's time and convert images, whose channels come "
      "first",
      dtype_name(p.main_dtype), percent_of(conv_ns, p.device_busy_ns));
  last.action =
      "keep model and images in memory_format channels_last: --runtime torch-channels-last";
  last.options.runtime = "torch-channels-last";
  variants->push_back(std::move(last));
}

// The extent of a result's last axis, of "8x1024x50257".
int64_t last_extent(std::string_view shape) {
  const std::string_view last = shape.substr(shape.rfind('x') + 1);
  int64_t extent = 0;
  std::from_chars(last.data(), last.data() + last.size(), extent);
  return extent;
}

// Products in 16 bits or TF32 whose results do not fill whole 16 bytes run slow kernels. A
// vocabulary can be padded: nothing looks up the new rows.
void add_padding(const AdviceContext& context, std::vector<Variant>* variants) {
  constexpr int64_t kMultiple = 8;
  const Prediction& p = context.prediction;
  TimeNs time_ns = 0;
  int64_t extent = 0;
  for (const PredictedOp& op : p.ops) {
    const int64_t last = last_extent(op.shape);
    if (op.op_class == OpClass::kMatMul && last >= kLeastVocabulary && last % kMultiple != 0) {
      time_ns += op.duration_ns;
      extent = last;
    }
  }
  if (p.device_type != DeviceType::kGpu || !on_matrix_units(p.main_dtype) || time_ns == 0 ||
      context.options.model.pad_vocabulary > 0) {
    return;
  }
  Variant padded = plain(context, "alignment");
  padded.insight = fmt::format(
      "products with {} columns, which are not aligned to 16 bytes, take {} of the device's time",
      extent, percent_of(time_ns, p.device_busy_ns));
  padded.action =
      fmt::format("pad the vocabulary to a multiple of {}: --pad-vocab {}", kMultiple, kMultiple);
  padded.options.model.pad_vocabulary = kMultiple;
  variants->push_back(std::move(padded));
}

void add_runtimes(const AdviceContext& context, std::vector<Variant>* variants) {
  const Prediction& p = context.prediction;
  const bool eager = p.runtime.starts_with("torch-eager") || p.runtime.starts_with("torch-sdpa") ||
                     p.runtime.starts_with("torch-channels-last");
  if (p.device_type != DeviceType::kGpu || p.runtime.starts_with("cuda-graph")) {
    return;
  }
  if (p.host_busy_ns > p.device_busy_ns) {
    Variant graph = plain(context, "launch-overhead");
    graph.insight = fmt::format(
        "the host launches {} one by one: it is busy {} of the "
        "time, the device {}",
        counted(p.ops.size(), "operator"), percent_of(p.host_busy_ns, p.latency_ns),
        percent_of(p.device_busy_ns, p.latency_ns));
    graph.action = "launch the model as one graph (CUDA graphs): --runtime cuda-graph";
    graph.options.runtime = "cuda-graph";
    variants->push_back(std::move(graph));
  }
  const TimeNs small_ns = time_of_class(p, "elementwise") + time_of_class(p, "norm");
  if (eager &&
      static_cast<double>(small_ns) >= kWorthFusing * static_cast<double>(p.device_busy_ns)) {
    Variant fused = plain(context, "fusion");
    fused.insight = fmt::format(
        "elementwise operators and normalisations take {} of the device's "
        "time",
        percent_of(small_ns, p.device_busy_ns));
    fused.action = "compile the model, which fuses them: --runtime torch-compile";
    fused.options.runtime = "torch-compile";
    variants->push_back(std::move(fused));
  }
}

// PyTorch has no kernels of its own for quantised convolutions and products on GPUs; engines have.
bool lacks_kernels(const Prediction& prediction, Precision precision) {
  const bool pytorch =
      prediction.runtime.starts_with("torch-") || prediction.runtime.starts_with("cuda-graph");
  return precision == Precision::kInt8 && pytorch && prediction.device_type == DeviceType::kGpu;
}

// Every other precision that the machine has units for and that this kind of run can use. A file
// in 16 bits is cast by no option; its products can be quantised.
Status add_precisions(const AdviceContext& context, std::vector<Variant>* variants) {
  const Prediction& p = context.prediction;
  const bool fp32 = p.main_dtype == DType::kFloat32 || p.main_dtype == DType::kTFloat32;
  const bool of_file = !fp32 && p.precision.empty();
  if (of_file && p.main_dtype != DType::kFloat16 && p.main_dtype != DType::kBFloat16) {
    return ok_status();
  }
  DFSIM_ASSIGN_OR_RETURN(const Platform platform, load_platform(context.options.hardware));
  const std::string insight = fmt::format(
      "most arithmetic is done in {}: {} of the device's time",
      p.precisions.empty() ? dtype_name(p.main_dtype) : p.precisions.front().name,
      p.precisions.empty() ? "all" : fmt::format("{:.0f} %", 100 * p.precisions.front().fraction));
  for (const Precision precision : supported_precisions(platform)) {
    if (precision_name(precision) == p.precision || precision == Precision::kFp32 ||
        lacks_kernels(p, precision) || (of_file && !quantises_products(precision))) {
      continue;
    }
    Variant other = plain(context, "precision");
    other.options.model.precision = precision_name(precision);
    other.insight = insight;
    other.action =
        fmt::format("another precision: --precision {}; check the model's accuracy in it",
                    precision_name(precision));
    variants->push_back(std::move(other));
  }
  return ok_status();
}

// As many times the batch as the device's memory holds, were all but the weights to grow with it.
int64_t batches_that_fit(const Prediction& prediction) {
  const Bytes grows = prediction.peak_memory_bytes - prediction.weight_bytes;
  const double room = kUsableShare * static_cast<double>(prediction.memory_bytes) -
                      static_cast<double>(prediction.weight_bytes);
  const double most = grows > 0 ? room / static_cast<double>(grows) : 0;
  int64_t batches = 1;
  while (batches < kMostPredictedBatches && static_cast<double>(2 * batches) <= most) {
    batches *= 2;
  }
  return batches;
}

void add_batch(const AdviceContext& context, std::vector<Variant>* variants) {
  const Prediction& p = context.prediction;
  const int64_t batches = batches_that_fit(p);
  if (batches < 2) {
    return;
  }
  Variant larger = plain(context, "batch");
  larger.options.model.batch = p.batch * batches;
  larger.batches = batches;
  larger.insight = fmt::format("the run holds {} of the device's {}",
                               format_bytes(p.peak_memory_bytes), format_bytes(p.memory_bytes));
  larger.action = fmt::format("a larger batch: --batch {}; times are per {}",
                              larger.options.model.batch, samples(p.batch));
  variants->push_back(std::move(larger));
}

void add_recomputation(const AdviceContext& context, std::vector<Variant>* variants) {
  const Prediction& p = context.prediction;
  if (!context.options.training.is_training()) {
    return;
  }
  const bool fits = p.memory_bytes <= 0 || p.peak_memory_bytes <= p.memory_bytes;
  for (const std::string_view what : kRecomputations) {
    if (what == context.options.training.recomputed()) {
      continue;
    }
    Variant other = plain(context, "recomputation");
    other.options.training.recompute = what;
    other.must_fit = true;
    if (what == "none" ||
        (what == "selective" && context.options.training.recomputed() == "full")) {
      other.insight = "activations are computed again in the backward pass";
      other.action = fmt::format("keep what fits: --recompute {}", what);
    } else if (fits && batches_that_fit(p) < 2 && p.memory_bytes > 0) {
      other.options.model.batch = p.batch * 2;
      other.batches = 2;
      other.insight = fmt::format("activations leave no room for a larger batch ({} of {})",
                                  format_bytes(p.peak_memory_bytes), format_bytes(p.memory_bytes));
      other.action = fmt::format(
          "compute activations again and double the batch: --recompute {} --batch {}; times are "
          "per {}",
          what, other.options.model.batch, samples(p.batch));
    } else {
      continue;
    }
    variants->push_back(std::move(other));
  }
}

// The same CPU with another number of threads has a hardware file of its own.
Status add_threads(const AdviceContext& context, std::vector<Variant>* variants) {
  const Prediction& p = context.prediction;
  const auto stem_of = [](const std::string& model) {
    return model.ends_with(" thread") || model.ends_with(" threads")
               ? model.substr(0, model.rfind(','))
               : std::string();
  };
  const std::string stem = stem_of(p.device_model);
  if (p.device_type != DeviceType::kCpu || stem.empty()) {
    return ok_status();
  }
  for (const std::string& name : builtin_names(FileKind::kPlatform)) {
    DFSIM_ASSIGN_OR_RETURN(const Platform platform, load_platform(name));
    const DeviceSpec& device = platform.devices.front();
    if (device.model == p.device_model || stem_of(device.model) != stem) {
      continue;
    }
    Variant other = plain(context, "threads");
    other.options.hardware = name;
    other.insight = fmt::format("operators run on {}", p.device_model.substr(stem.size() + 2));
    other.action =
        fmt::format("run them on {}: --hw {}", device.model.substr(stem.size() + 2), name);
    variants->push_back(std::move(other));
  }
  return ok_status();
}

Status add_placement(const AdviceContext& context, std::vector<Variant>* variants) {
  DFSIM_ASSIGN_OR_RETURN(const Platform platform, load_platform(context.options.hardware));
  if (platform.devices.size() < 2 || context.options.policy == "heft") {
    return ok_status();
  }
  Variant placed = plain(context, "placement");
  placed.options.policy = "heft";
  placed.insight = fmt::format("the machine has {} devices, operators are placed by {}",
                               platform.devices.size(), context.options.policy);
  placed.action = "place operators on all of them: --policy heft";
  variants->push_back(std::move(placed));
  return ok_status();
}

}  // namespace

Status advise_settings(const PredictOptions& options, const RepeatResult& interval,
                       const PredictFunction& predict, const Progress& progress,
                       Prediction* prediction) {
  const AdviceContext context{options, *prediction};
  std::vector<Variant> variants;
  add_runtimes(context, &variants);
  add_layout(context, &variants);
  add_padding(context, &variants);
  DFSIM_RETURN_IF_ERROR(add_precisions(context, &variants));
  add_batch(context, &variants);
  add_recomputation(context, &variants);
  DFSIM_RETURN_IF_ERROR(add_threads(context, &variants));
  DFSIM_RETURN_IF_ERROR(add_placement(context, &variants));
  AdviceList advice;
  advice.asked = true;
  const double before_us = in_us(prediction->latency_ns);
  advice.width_us = std::max(in_us(interval.p90_ns - interval.p10_ns), kLeastGain * before_us);
  for (const Variant& variant : variants) {
    DFSIM_RETURN_IF_ERROR(progress.stage("predicting: " + variant.action));
    const StatusOr<Prediction> changed = predict(variant.options);
    if (!changed.ok() || changed->batch != prediction->batch * variant.batches ||
        (variant.must_fit && changed->memory_bytes > 0 &&
         changed->peak_memory_bytes > changed->memory_bytes)) {
      continue;  // this model or machine does not allow it
    }
    const double after_us = in_us(changed->latency_ns) / static_cast<double>(variant.batches);
    if (before_us - after_us > advice.width_us) {
      advice.list.push_back({variant.kind, variant.insight, variant.action, before_us, after_us});
    }
  }
  std::stable_sort(advice.list.begin(), advice.list.end(),
                   [](const Advice& a, const Advice& b) { return a.after_us < b.after_us; });
  prediction->advice = std::move(advice);
  return ok_status();
}

}  // namespace dfsim::inline study
