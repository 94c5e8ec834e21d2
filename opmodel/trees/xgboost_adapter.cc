// The only file that calls XGBoost's C API. Handles are owned by unique pointers, memory is lent
// to the library through NumPy's array interface instead of copied, and its error text is cut
// down to the sentence that says what is wrong. Bytes of a model pass through the bounds-checked
// reader of tree_file.h before the library's loader sees them.
#include "opmodel/trees/xgboost_adapter.h"

#include <fmt/format.h>
#include <xgboost/c_api.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "base/cancellation.h"
#include "base/hash.h"
#include "base/text.h"
#include "opmodel/trees/ubjson.h"

namespace dfsim::inline opmodel {

namespace {

constexpr size_t kMaxModelBytes = size_t{1} << 30;

// The library prints warnings to stderr unless told not to, per thread.
void silence() { XGBSetGlobalConfig(R"({"verbosity":0})"); }

// XGBoost's messages carry a time stamp, a source line and a stack trace: keep the sentence.
std::string last_error() {
  std::string text = XGBGetLastError();
  if (const size_t trace = text.find("\nStack trace"); trace != std::string::npos) {
    text.resize(trace);
  }
  if (const size_t stamp = text.find(".cc:"); stamp != std::string::npos) {
    const size_t colon = text.find(": ", stamp);
    text.erase(0, colon == std::string::npos ? 0 : colon + 2);
  }
  return printable(text, 300);
}

Status library_error(std::string_view doing) {
  return failed(fmt::format("XGBoost could not {}: {}", doing, last_error()));
}

// NumPy's array interface: how the library is handed memory it does not own.
std::string array_interface(std::span<const float> values, size_t rows, size_t columns) {
  return fmt::format(R"({{"data":[{},true],"shape":[{},{}],"typestr":"<f4","version":3}})",
                     reinterpret_cast<uintptr_t>(values.data()), rows, columns);
}

Status set_params(BoosterHandle handle, const BoosterParams& params) {
  for (const auto& [name, value] : params) {
    if (XGBoosterSetParam(handle, name.c_str(), value.c_str()) != 0) {
      return invalid_input(fmt::format("XGBoost parameter {}={}: {}", printable(name),
                                       printable(value), last_error()));
    }
  }
  return ok_status();
}

Status set_float_info(DMatrixHandle handle, const char* field, std::span<const float> values) {
  if (XGDMatrixSetFloatInfo(handle, field, values.data(), values.size()) != 0) {
    return library_error(fmt::format("take the {}s of the training rows", field));
  }
  return ok_status();
}

}  // namespace

uint64_t checksum64(std::string_view bytes) {
  // Four independent lanes hide the latency of the multiplications.
  std::array<Hasher, 4> lanes;
  constexpr size_t kStride = lanes.size() * sizeof(uint64_t);
  size_t at = 0;
  for (; at + kStride <= bytes.size(); at += kStride) {
    for (size_t lane = 0; lane < lanes.size(); ++lane) {
      uint64_t word = 0;
      std::memcpy(&word, bytes.data() + at + lane * sizeof word, sizeof word);
      lanes[lane].add(word);
    }
  }
  Hasher all;
  for (const Hasher& lane : lanes) {
    all.add(lane.digest());
  }
  return all.add(bytes.substr(at)).add(bytes.size()).digest();
}

std::string xgboost_version() {
  int major = 0;
  int minor = 0;
  int patch = 0;
  XGBoostVersion(&major, &minor, &patch);
  return fmt::format("{}.{}.{}", major, minor, patch);
}

void TrainingMatrix::Deleter::operator()(void* handle) const { XGDMatrixFree(handle); }
TrainingMatrix::TrainingMatrix(TrainingMatrix&&) noexcept = default;
TrainingMatrix& TrainingMatrix::operator=(TrainingMatrix&&) noexcept = default;
TrainingMatrix::~TrainingMatrix() = default;
void* TrainingMatrix::handle() const { return handle_.get(); }

StatusOr<TrainingMatrix> TrainingMatrix::create(const Spec& spec, int threads) {
  if (spec.columns == 0 || spec.labels.empty() ||
      spec.values.size() != spec.labels.size() * spec.columns ||
      (!spec.weights.empty() && spec.weights.size() != spec.labels.size())) {
    return invalid_input(
        fmt::format("training rows: {} values, {} labels and {} weights do not make rows of {} "
                    "columns; give one label (and weight) per row",
                    spec.values.size(), spec.labels.size(), spec.weights.size(), spec.columns));
  }
  silence();
  const std::string data = array_interface(spec.values, spec.labels.size(), spec.columns);
  const std::string config = fmt::format(R"({{"missing":NaN,"nthread":{}}})", threads);
  DMatrixHandle handle = nullptr;
  if (XGDMatrixCreateFromDense(data.c_str(), config.c_str(), &handle) != 0) {
    return library_error("take the training rows");
  }
  TrainingMatrix matrix(handle, spec.labels.size());
  DFSIM_RETURN_IF_ERROR(set_float_info(handle, "label", spec.labels));
  if (!spec.weights.empty()) {
    DFSIM_RETURN_IF_ERROR(set_float_info(handle, "weight", spec.weights));
  }
  return matrix;
}

void Booster::Deleter::operator()(void* handle) const { XGBoosterFree(handle); }

StatusOr<Booster> Booster::create(const BoosterParams& params,
                                  std::span<const TrainingMatrix* const> matrices) {
  silence();
  std::vector<DMatrixHandle> handles;
  handles.reserve(matrices.size());
  for (const TrainingMatrix* matrix : matrices) {
    handles.push_back(matrix->handle());
  }
  BoosterHandle handle = nullptr;
  if (XGBoosterCreate(handles.data(), handles.size(), &handle) != 0) {
    return library_error("create a model");
  }
  Booster booster(handle);
  DFSIM_RETURN_IF_ERROR(set_params(handle, params));
  DFSIM_RETURN_IF_ERROR(booster.read_columns());
  return booster;
}

StatusOr<Booster> Booster::load(std::string_view bytes, uint64_t checksum, std::string_view place) {
  if (bytes.empty() || bytes.size() > kMaxModelBytes || bytes.front() != '{') {
    return invalid_input(
        fmt::format("{}: {} bytes that are not an XGBoost model in UBJ format; train it again",
                    place, bytes.size()));
  }
  if (const uint64_t found = checksum64(bytes); found != checksum) {
    return invalid_input(
        fmt::format("{}: checksum {:016x}, but the manifest says {:016x}: the file is damaged or "
                    "was replaced; train it again or restore it",
                    place, found, checksum));
  }
  DFSIM_ASSIGN_OR_RETURN(Booster booster, read(bytes, place));
  DFSIM_RETURN_IF_ERROR(booster.set_threads(1));
  return booster;
}

StatusOr<Booster> Booster::resume(std::string_view bytes, const BoosterParams& params) {
  DFSIM_ASSIGN_OR_RETURN(Booster booster, read(bytes, "trees to go on from"));
  DFSIM_RETURN_IF_ERROR(set_params(booster.handle_.get(), params));
  return booster;
}

StatusOr<int> Booster::rounds() const {
  int rounds = 0;
  if (XGBoosterBoostedRounds(handle_.get(), &rounds) != 0) {
    return library_error("count its rounds");
  }
  return rounds;
}

StatusOr<Booster> Booster::read(std::string_view bytes, std::string_view place) {
  // XGBoost's reader believes every length it reads; only what is whole may reach it.
  UbjsonReader reader(bytes);
  if (!reader.skip() || reader.position() != bytes.size()) {
    return invalid_input(
        fmt::format("{}: broken at byte {}; expected a model in UBJ format, so train it again",
                    place, reader.position()));
  }
  silence();
  BoosterHandle handle = nullptr;
  if (XGBoosterCreate(nullptr, 0, &handle) != 0) {
    return library_error("create a model");
  }
  Booster booster(handle);
  if (XGBoosterLoadModelFromBuffer(handle, bytes.data(), bytes.size()) != 0) {
    return invalid_input(fmt::format("{}: XGBoost {} cannot read the model: {}", place,
                                     xgboost_version(), last_error()));
  }
  DFSIM_RETURN_IF_ERROR(booster.read_columns());
  return booster;
}

Status Booster::read_columns() {
  bst_ulong columns = 0;
  if (XGBoosterGetNumFeature(handle_.get(), &columns) != 0) {
    return library_error("say how many features the model has");
  }
  columns_ = columns;
  return ok_status();
}

Status Booster::set_threads(int threads) {
  return set_params(handle_.get(), {{"nthread", std::to_string(threads)}});
}

Status Booster::update(int round, const TrainingMatrix& matrix) {
  cancellation_point();  // parts of many rows train for half a minute
  if (XGBoosterUpdateOneIter(handle_.get(), round, matrix.handle()) != 0) {
    return library_error("train");
  }
  return ok_status();
}

StatusOr<double> Booster::evaluate(int round, const TrainingMatrix& matrix) {
  DMatrixHandle handle = matrix.handle();
  const char* name = "held";
  const char* text = nullptr;
  if (XGBoosterEvalOneIter(handle_.get(), round, &handle, &name, 1, &text) != 0) {
    return library_error("evaluate");
  }
  // "[12]\theld-mae:0.123": the number after the last colon.
  const char* colon = std::strrchr(text, ':');
  char* end = nullptr;
  const double value = colon == nullptr ? std::nan("") : std::strtod(colon + 1, &end);
  if (!std::isfinite(value)) {
    return failed(
        fmt::format("XGBoost's evaluation '{}' holds no number; look for labels that "
                    "are not finite",
                    printable(text)));
  }
  return value;
}

StatusOr<Booster> Booster::first_rounds(int count) const {
  DFSIM_ASSIGN_OR_RETURN(const int trained, rounds());
  if (count < 1 || count > trained) {  // XGBoost would leak the slice that it refuses
    return invalid_input(
        fmt::format("the first {} rounds are asked for; the model has {}", count, trained));
  }
  BoosterHandle handle = nullptr;
  if (XGBoosterSlice(handle_.get(), 0, count, 1, &handle) != 0) {
    return library_error(fmt::format("keep the first {} rounds", count));
  }
  Booster booster(handle);
  DFSIM_RETURN_IF_ERROR(booster.read_columns());
  return booster;
}

StatusOr<std::string> Booster::save() const {
  bst_ulong size = 0;
  const char* bytes = nullptr;
  if (XGBoosterSaveModelToBuffer(handle_.get(), R"({"format":"ubj"})", &size, &bytes) != 0) {
    return library_error("save a model");
  }
  return std::string(bytes, size);
}

Status Booster::predict(std::span<const float> values, std::span<float> out) const {
  if (values.size() != out.size() * columns_) {
    return invalid_input(fmt::format("prediction: {} values for {} rows of {} features",
                                     values.size(), out.size(), columns_));
  }
  if (out.empty()) {
    return ok_status();
  }
  silence();
  constexpr const char* kConfig =
      R"({"type":0,"training":false,"iteration_begin":0,"iteration_end":0,"strict_shape":false,)"
      R"("missing":NaN,"cache_id":0})";
  const std::string data = array_interface(values, out.size(), columns_);
  const bst_ulong* shape = nullptr;
  bst_ulong dims = 0;
  const float* result = nullptr;
  if (XGBoosterPredictFromDense(handle_.get(), data.c_str(), kConfig, nullptr, &shape, &dims,
                                &result) != 0) {
    return library_error("predict");
  }
  const size_t count = std::accumulate(shape, shape + dims, size_t{1}, std::multiplies<>());
  if (count != out.size()) {
    return failed(
        fmt::format("XGBoost returned {} values for {} rows; the model has more than "
                    "one output, one was expected",
                    count, out.size()));
  }
  std::copy_n(result, count, out.begin());
  return ok_status();
}

StatusOr<std::vector<std::pair<size_t, double>>> Booster::importance() const {
  bst_ulong feature_count = 0;
  bst_ulong dims = 0;
  const char** names = nullptr;
  const bst_ulong* shape = nullptr;
  const float* scores = nullptr;
  if (XGBoosterFeatureScore(handle_.get(), R"({"importance_type":"total_gain"})", &feature_count,
                            &names, &dims, &shape, &scores) != 0) {
    return library_error("rate the features");
  }
  std::vector<std::pair<size_t, double>> shares;
  double total = 0;
  for (bst_ulong i = 0; i < feature_count; ++i) {
    // Without feature names the library calls them f0, f1...
    shares.emplace_back(std::strtoul(names[i] + 1, nullptr, 10), scores[i]);
    total += scores[i];
  }
  for (auto& [feature, share] : shares) {
    share = total > 0 ? share / total : 0;
  }
  std::sort(shares.begin(), shares.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  return shares;
}

}  // namespace dfsim::inline opmodel
