// Skipped weights become holes of a sparse file: offsets stay as they are, and no disk is used.
#include "server/models/model_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

namespace dfsim::server {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLongestName = 100;

// The last part of a path, of harmless letters.
std::string clean_name(std::string_view name) {
  const size_t slash = name.find_last_of("/\\");
  std::string clean;
  for (const char c : slash == std::string_view::npos ? name : name.substr(slash + 1)) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
    clean += is_plain ? c : '_';
  }
  clean = clean.substr(clean.size() > kLongestName ? clean.size() - kLongestName : 0);
  while (!clean.empty() && clean.front() == '.') {
    clean.erase(clean.begin());
  }
  return clean.empty() ? "model.onnx" : clean;
}

std::string system_error() { return std::strerror(errno); }

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) {
      return false;
    }
    bytes.remove_prefix(written < 0 ? 0 : static_cast<size_t>(written));
  }
  return true;
}

}  // namespace

StoredModel::~StoredModel() {
  std::error_code error;
  if (!path.empty()) {
    fs::remove_all(fs::path(path).parent_path(), error);
  }
}

Upload::~Upload() {
  if (file_ >= 0) {
    ::close(file_);
  }
}

Status Upload::take(std::string_view piece) {
  model_->bytes += piece.size();
  if (model_->bytes > limits_.upload_bytes) {
    return unsupported(
        fmt::format("{}: more than {} bytes, expected at most that; send the model without its "
                    "weights (dfsim inspect --save)",
                    model_->name, limits_.upload_bytes));
  }
  bool is_written = true;
  skipper_.take(
      piece,
      [&](std::string_view bytes) {
        model_->kept_bytes += bytes.size();
        is_written =
            is_written && (model_->kept_bytes > limits_.model_bytes || write_all(file_, bytes));
      },
      [&](uint64_t count) {
        is_written = is_written && ::lseek(file_, static_cast<off_t>(count), SEEK_CUR) >= 0;
      });
  if (!is_written) {
    return failed(fmt::format("{}: cannot be stored: {}", model_->name, system_error()));
  }
  if (model_->kept_bytes > limits_.model_bytes) {
    return unsupported(
        fmt::format("{}: more than {} bytes besides weights, expected at most that; send a smaller "
                    "model, or one that is not packed",
                    model_->name, limits_.model_bytes));
  }
  return ok_status();
}

StatusOr<std::shared_ptr<StoredModel>> Upload::finish() {
  if (model_->bytes == 0) {
    return invalid_input(model_->name +
                         ": found an empty body, expected a model; send the file as the body");
  }
  // A hole at the end needs the size.
  const bool is_sized = ::ftruncate(file_, static_cast<off_t>(model_->bytes)) == 0;
  const bool is_closed = ::close(std::exchange(file_, -1)) == 0;
  if (!is_sized || !is_closed) {
    return failed(fmt::format("{}: cannot be stored: {}", model_->name, system_error()));
  }
  return std::move(model_);
}

StatusOr<std::unique_ptr<ModelStore>> ModelStore::create(const StoreLimits& limits) {
  std::error_code error;
  std::string directory = (fs::temp_directory_path(error) / "dfsim-serve-XXXXXX").string();
  if (error || ::mkdtemp(directory.data()) == nullptr) {
    return failed(
        fmt::format("{}: cannot be made: {}; set TMPDIR to a directory that can be "
                    "written",
                    directory, error ? error.message() : system_error()));
  }
  return std::unique_ptr<ModelStore>(new ModelStore(directory, limits));
}

ModelStore::~ModelStore() {
  models_.clear();
  std::error_code error;
  fs::remove_all(directory_, error);
}

StatusOr<std::unique_ptr<Upload>> ModelStore::begin(std::string_view name) {
  auto model = std::make_shared<StoredModel>();
  {
    const std::lock_guard lock(mutex_);
    model->id = fmt::format("m-{}", next_id_++);
  }
  model->name = clean_name(name);
  const fs::path folder = fs::path(directory_) / model->id;
  std::error_code error;
  fs::create_directory(folder, error);
  model->path = (folder / model->name).string();
  const int file =
      error ? -1 : ::open(model->path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) {
    return failed(fmt::format("{}: cannot be stored: {}", model->name,
                              error ? error.message() : system_error()));
  }
  return std::unique_ptr<Upload>(new Upload(std::move(model), file, limits_));
}

void ModelStore::add(std::shared_ptr<StoredModel> model) {
  const std::lock_guard lock(mutex_);
  stored_bytes_ += model->kept_bytes;
  const std::string id = model->id;
  models_[id] = {std::move(model), ++uses_};
  while (models_.size() > 1 &&
         (models_.size() > limits_.models || stored_bytes_ > limits_.stored_bytes)) {
    const auto oldest = std::min_element(
        models_.begin(), models_.end(),
        [](const auto& a, const auto& b) { return a.second.last_use < b.second.last_use; });
    stored_bytes_ -= oldest->second.model->kept_bytes;
    models_.erase(oldest);
  }
}

std::shared_ptr<const StoredModel> ModelStore::find(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = models_.find(id);
  if (found == models_.end()) {
    return nullptr;
  }
  found->second.last_use = ++uses_;
  return found->second.model;
}

bool ModelStore::remove(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = models_.find(id);
  if (found == models_.end()) {
    return false;
  }
  stored_bytes_ -= found->second.model->kept_bytes;
  models_.erase(found);
  return true;
}

std::vector<std::shared_ptr<const StoredModel>> ModelStore::list() {
  std::vector<std::shared_ptr<const StoredModel>> models;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, entry] : models_) {
      models.push_back(entry.model);
    }
  }
  std::sort(models.begin(), models.end(), [](const auto& a, const auto& b) {
    return std::stoull(a->id.substr(2)) < std::stoull(b->id.substr(2));
  });
  return models;
}

std::string ModelStore::without_directory(std::string text) const {
  // "DIRECTORY/m-12/" is in front of names.
  for (size_t at = text.find(directory_); at != std::string::npos; at = text.find(directory_, at)) {
    size_t end = at + directory_.size();
    for (int slash = 0; slash < 2 && end < text.size() && text[end] == '/'; ++slash) {
      const size_t next = text.find('/', end + 1);
      end = slash == 1 || next == std::string::npos ? end + 1 : next;
    }
    text.erase(at, end - at);
  }
  return text;
}

}  // namespace dfsim::server
