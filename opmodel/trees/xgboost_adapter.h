// XGBoost behind value types and Status: the only way dfsim reaches the library.
//
// Purpose: train gradient-boosted trees, keep them as UBJ bytes, predict batches of rows.
// Invariants: a Booster always holds a usable model; matrices are dense, row-major floats, NaN
//   meaning "not known". Bytes of a model are compared with the checksum that was recorded when
//   they were written before the library sees them, since XGBoost aborts or reads out of bounds on
//   some damaged input.
// Errors: kInvalidInput for damaged bytes, unknown parameters and wrong sizes; kFailed with
//   XGBoost's own words otherwise. Paper: Chen and Guestrin 2016, doi:10.1145/2939672.2939785.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace dfsim::inline opmodel {

// Digest of a file's bytes, as written in manifests. Detects damage, not malice. About 8 GB/s.
uint64_t checksum64(std::string_view bytes);

// "1.7.4": the library that is linked.
std::string xgboost_version();

// Rows of features with their targets, as the library keeps them. Move-only.
class TrainingMatrix {
 public:
  struct Spec {
    std::span<const float> values;   // rows * columns
    size_t columns = 0;              // at least 1
    std::span<const float> labels;   // one per row
    std::span<const float> weights;  // one per row, or none
  };
  static StatusOr<TrainingMatrix> create(const Spec& spec, int threads);

  TrainingMatrix(TrainingMatrix&&) noexcept;
  TrainingMatrix& operator=(TrainingMatrix&&) noexcept;
  ~TrainingMatrix();

  size_t rows() const { return rows_; }
  void* handle() const;  // DMatrixHandle, for the adapter only

 private:
  struct Deleter {
    void operator()(void* handle) const;
  };
  explicit TrainingMatrix(void* handle, size_t rows) : handle_(handle), rows_(rows) {}

  std::unique_ptr<void, Deleter> handle_;
  size_t rows_ = 0;
};

using BoosterParams = std::vector<std::pair<std::string, std::string>>;

// One ensemble of trees. Move-only. Prediction is const, yet calls on one Booster must not run at
// the same time in several threads.
class Booster {
 public:
  // An untrained model for update(). The matrices must outlive the training, as the library caches
  // their predictions. `params` are XGBoost's own names and values.
  static StatusOr<Booster> create(const BoosterParams& params,
                                  std::span<const TrainingMatrix* const> matrices);

  // Reads what save() wrote. `place` names the file in messages. Predicts in one thread: batches
  // of a few hundred rows are faster so.
  static StatusOr<Booster> load(std::string_view bytes, uint64_t checksum, std::string_view place);

  // A model to train further from the bytes of save(); `params` as for create().
  static StatusOr<Booster> resume(std::string_view bytes, const BoosterParams& params);
  // Rounds trained so far.
  StatusOr<int> rounds() const;

  // One more round of boosting on `matrix`. `round` counts from 0.
  Status update(int round, const TrainingMatrix& matrix);
  // The evaluation metric of the parameters on `matrix` after `round`.
  StatusOr<double> evaluate(int round, const TrainingMatrix& matrix);
  // The first `rounds` rounds as a model of its own. 1 <= rounds <= rounds trained.
  StatusOr<Booster> first_rounds(int count) const;

  // The model as UBJ bytes: equal models give equal bytes.
  StatusOr<std::string> save() const;

  // out[i] = prediction of row i. |values| == |out| * columns(). No copy of the rows is made.
  Status predict(std::span<const float> values, std::span<float> out) const;

  // Share of the total gain of each feature that any split uses: (feature index, share in 0..1),
  // largest first.
  StatusOr<std::vector<std::pair<size_t, double>>> importance() const;

  size_t columns() const { return columns_; }
  Status set_threads(int threads);

 private:
  struct Deleter {
    void operator()(void* handle) const;
  };
  explicit Booster(void* handle) : handle_(handle) {}
  Status read_columns();
  static StatusOr<Booster> read(std::string_view bytes, std::string_view place);

  std::unique_ptr<void, Deleter> handle_;
  size_t columns_ = 0;
};

}  // namespace dfsim::inline opmodel
