#include "graphs/taskgraph/char_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace dfsim::inline graphs::taskgraph {
namespace {
constexpr size_t kPieceBytes = size_t{1} << 18;
}  // namespace

StatusOr<CharSource> CharSource::open(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return not_found(fmt::format("{}: no such file", path));
  }
  if (std::filesystem::is_directory(path, error)) {
    return invalid_input(fmt::format("{}: is a directory; expected a task-graph file", path));
  }
  CharSource source;
  source.path_ = path;
  source.file_.reset(std::fopen(path.c_str(), "rb"));
  if (source.file_ == nullptr) {
    return invalid_input(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  }
  source.buffer_.resize(kPieceBytes);
  return source;
}

CharSource CharSource::of(std::string_view content, std::string path) {
  CharSource source;
  source.path_ = std::move(path);
  source.buffer_.assign(content.begin(), content.end());
  source.end_ = content.size();
  return source;
}

bool CharSource::refill() {
  position_ = 0;
  if (file_ == nullptr) {
    end_ = 0;
    return false;
  }
  end_ = std::fread(buffer_.data(), 1, buffer_.size(), file_.get());
  return end_ > 0;
}

std::string_view CharSource::prefix() {
  peek();
  return {buffer_.data() + position_, end_ - position_};
}

size_t CharSource::read(char* out, size_t size) {
  if (position_ == end_ && !refill()) {
    return 0;
  }
  const size_t count = std::min(size, end_ - position_);
  std::memcpy(out, buffer_.data() + position_, count);
  position_ += count;
  return count;
}

Status CharSource::error_at(size_t line, std::string_view message) const {
  return invalid_input(fmt::format("{}:{}: {}", path_, line, message));
}

}  // namespace dfsim::inline graphs::taskgraph
