// ModelStore: uploaded models, each in a directory of its own below a private temporary one.
//
// Invariants: what is stored is bounded in bytes and in number; the model
//   whose last use is the longest ago goes first. A path has only letters, digits, '.', '_' and '-'
//   of a name that a client chose. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "server/models/weight_skipper.h"

namespace dfsim::server {

struct StoreLimits {
  uint64_t upload_bytes = uint64_t{16} << 30;  // of one upload, weights included
  uint64_t model_bytes = uint64_t{256} << 20;  // of one upload, without weights
  uint64_t stored_bytes = uint64_t{2} << 30;   // of all
  size_t models = 256;
};

// A model on disk. The file lives as long as somebody holds it.
struct StoredModel {
  std::string id;    // "m-12"
  std::string name;  // as given, cleaned: "resnet50.onnx"
  std::string path;
  uint64_t bytes = 0;       // as sent
  uint64_t kept_bytes = 0;  // without weights

  StoredModel() = default;
  ~StoredModel();
  StoredModel(const StoredModel&) = delete;
  StoredModel& operator=(const StoredModel&) = delete;
};

class ModelStore;

// A model that arrives. An unfinished one leaves nothing behind.
class Upload {
 public:
  // Errors: kUnsupported, larger than a limit; kFailed, the disk is full and the like.
  Status take(std::string_view piece);
  // The model, which the store does not know yet.
  StatusOr<std::shared_ptr<StoredModel>> finish();

  ~Upload();
  Upload(const Upload&) = delete;
  Upload& operator=(const Upload&) = delete;

 private:
  friend class ModelStore;
  Upload(std::shared_ptr<StoredModel> model, int file, const StoreLimits& limits)
      : model_(std::move(model)), file_(file), limits_(limits) {}

  std::shared_ptr<StoredModel> model_;
  int file_;
  const StoreLimits& limits_;
  WeightSkipper skipper_;
};

class ModelStore {
 public:
  // Makes the temporary directory. Error: kFailed.
  static StatusOr<std::unique_ptr<ModelStore>> create(const StoreLimits& limits);
  ~ModelStore();
  ModelStore(const ModelStore&) = delete;
  ModelStore& operator=(const ModelStore&) = delete;

  StatusOr<std::unique_ptr<Upload>> begin(std::string_view name);
  // Makes a finished model known under its id.
  void add(std::shared_ptr<StoredModel> model);
  // Null when there is none, any more.
  std::shared_ptr<const StoredModel> find(const std::string& id);
  bool remove(const std::string& id);
  // By age, the oldest first.
  std::vector<std::shared_ptr<const StoredModel>> list();

  const StoreLimits& limits() const { return limits_; }
  // `text` without the path of the directory, for messages.
  std::string without_directory(std::string text) const;

 private:
  ModelStore(std::string directory, const StoreLimits& limits)
      : directory_(std::move(directory)), limits_(limits) {}

  struct Entry {
    std::shared_ptr<StoredModel> model;
    uint64_t last_use = 0;
  };

  const std::string directory_;
  const StoreLimits limits_;
  std::mutex mutex_;  // of what follows
  std::map<std::string, Entry> models_;
  uint64_t stored_bytes_ = 0;
  uint64_t next_id_ = 1;
  uint64_t uses_ = 0;
};

}  // namespace dfsim::server
