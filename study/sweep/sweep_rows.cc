// A row on disk is a record of fixed size at a place that its number gives, so that threads write
// theirs without waiting for each other and a row is one read away. Bytes never written are
// zero: a row without figures, as texts count from 1.
#include "study/sweep/sweep_rows.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "base/check.h"

namespace dfsim::inline study {
namespace {

struct SweepRecord {
  SweepFigures figures = {};
  uint32_t runtime = 0;  // number of a text
  uint32_t error = 0;
};
static_assert(std::is_trivially_copyable_v<SweepRecord>);

// Texts by number. Number 0 is the empty one.
class SweepTexts {
 public:
  uint32_t number_of(const std::string& text) {
    if (text.empty()) {
      return 0;
    }
    const std::lock_guard lock(mutex_);
    const auto [found, is_new] =
        numbers_.try_emplace(text, static_cast<uint32_t>(texts_.size() + 1));
    if (is_new) {
      texts_.push_back(&found->first);
    }
    return found->second;
  }
  std::string text(uint32_t number) const {
    return number == 0 ? std::string() : *texts_[number - 1];
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, uint32_t> numbers_;  // whose keys stay where they are
  std::vector<const std::string*> texts_;
};

Status temporary_file_error(const std::string& path, int reason) {
  return failed(fmt::format(
      "{}: rows of the sweep cannot be kept there: {}; set TMPDIR to a directory with room", path,
      std::strerror(reason)));
}

}  // namespace

struct SweepRows::State {
  ~State() {
    if (file >= 0) {
      ::close(file);
    }
  }

  // A file that vanishes with the program, of zeros.
  Status open(size_t bytes) {
    const char* const chosen = std::getenv("TMPDIR");
    directory = chosen == nullptr || *chosen == '\0' ? "/tmp" : chosen;
    std::string path = directory + "/dfsim-sweep-XXXXXX";
    file = ::mkstemp(path.data());
    if (file < 0) {
      return temporary_file_error(directory, errno);
    }
    ::unlink(path.c_str());
    return ::ftruncate(file, static_cast<off_t>(bytes)) == 0
               ? ok_status()
               : temporary_file_error(directory, errno);
  }

  std::vector<SweepRecord> records;  // empty when there is a file
  int file = -1;
  std::string directory;
  SweepTexts texts;
};

SweepRows::SweepRows() : state_(std::make_unique<State>()) {}
SweepRows::SweepRows(SweepRows&&) noexcept = default;
SweepRows& SweepRows::operator=(SweepRows&&) noexcept = default;
SweepRows::~SweepRows() = default;

StatusOr<SweepRows> SweepRows::make(size_t size, size_t most_in_memory) {
  SweepRows rows;
  rows.size_ = size;
  if (size <= most_in_memory) {
    rows.state_->records.resize(size);
  } else {
    DFSIM_RETURN_IF_ERROR(rows.state_->open(size * sizeof(SweepRecord)));
  }
  return rows;
}

Status SweepRows::set(size_t row, const SweepRow& value) {
  State& state = *state_;
  const SweepRecord record = {value.figures, state.texts.number_of(value.runtime),
                              state.texts.number_of(value.error)};
  if (state.file < 0) {
    state.records[row] = record;
    return ok_status();
  }
  const auto place = static_cast<off_t>(row * sizeof(record));
  errno = ENOSPC;  // what a short write means
  return ::pwrite(state.file, &record, sizeof(record), place) == sizeof(record)
             ? ok_status()
             : temporary_file_error(state.directory, errno);
}

SweepRow SweepRows::operator[](size_t row) const {
  const State& state = *state_;
  SweepRecord record;
  if (state.file < 0) {
    record = state.records[row];
  } else {
    // The file has the size of all rows from the beginning: only broken hardware reads less.
    const auto place = static_cast<off_t>(row * sizeof(record));
    DFSIM_CHECK(::pread(state.file, &record, sizeof(record), place) == sizeof(record));
  }
  return {record.figures, state.texts.text(record.error), state.texts.text(record.runtime)};
}

}  // namespace dfsim::inline study
