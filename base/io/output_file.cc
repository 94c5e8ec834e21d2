// OutputFile has two kinds of targets. For a regular file (or none yet), open() makes a temporary
// file next to it and commit() renames it; for anything else, write() goes straight to the target.
// The names of temporary files are kept in a table of fixed size, which a signal handler can read.
#include "base/io/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/io/captured_output.h"
#include "base/io/held_signals.h"

namespace dfsim::inline base {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxLinks = 40;          // as the kernel's own limit
constexpr size_t kMaxUnfinished = 64;  // files that are open at the same time
constexpr int kMaxWaits = 500;         // of a millisecond, for files that other threads make
constexpr mode_t kPermissionBits = 07777;

// One temporary file. `used` is claimed first and `visible` set last, so that a signal between the
// two finds no half-written name.
struct UnfinishedFile {
  std::atomic<bool> used = false;
  std::atomic<bool> visible = false;
  std::array<char, PATH_MAX> path = {};
};
std::array<UnfinishedFile, kMaxUnfinished> unfinished_files;

// Threads that are between making a temporary file and entering its name in the table.
std::atomic<int> being_made = 0;

// nullptr when the table is full or the path too long: the file is then left behind by a signal.
UnfinishedFile* remember_unfinished(const std::string& path) {
  if (path.size() >= PATH_MAX) {
    return nullptr;
  }
  for (UnfinishedFile& slot : unfinished_files) {
    bool free = false;
    if (slot.used.compare_exchange_strong(free, true)) {
      std::memcpy(slot.path.data(), path.c_str(), path.size() + 1);
      slot.visible = true;
      return &slot;
    }
  }
  return nullptr;
}

struct NewTemporary {
  int fd = -1;
  UnfinishedFile* slot = nullptr;
};

// Makes the file of `pattern` (as mkostemp()) and enters it in the table, which is one step for
// signals: this thread takes none before it is done, and a handler on another thread waits for it.
NewTemporary make_temporary(std::string& pattern) {
  const HeldSignals held;
  ++being_made;
  NewTemporary made;
  made.fd = ::mkostemp(pattern.data(), O_CLOEXEC);
  const int error = errno;
  if (made.fd >= 0) {
    made.slot = remember_unfinished(pattern);
  }
  --being_made;
  errno = error;
  return made;
}

void forget_unfinished(UnfinishedFile* slot) {
  if (slot != nullptr) {
    slot->visible = false;
    slot->used = false;
  }
}

Status cannot_write(const std::string& path, int error, std::string_view advice) {
  return failed(fmt::format("{}: cannot be written: {}{}", path, std::strerror(error), advice));
}

constexpr std::string_view kCheckDirectory = "; check the directory and its permissions";

// The file that `path` means: symbolic links are followed, also to a file that does not exist yet.
StatusOr<std::string> final_target(const std::string& path) {
  fs::path target(path);
  for (int links = 0; links < kMaxLinks; ++links) {
    std::error_code error;
    if (!fs::is_symlink(target, error)) {
      return target.string();
    }
    const fs::path next = fs::read_symlink(target, error);
    if (error) {
      return cannot_write(path, error.value(), kCheckDirectory);
    }
    target = next.is_absolute() ? next : target.parent_path() / next;
  }
  return cannot_write(path, ELOOP, kCheckDirectory);
}

mode_t default_permissions() {
  const mode_t mask = ::umask(0);  // the only way to read it is to set it
  ::umask(mask);
  return 0666 & ~mask;
}

}  // namespace

struct OutputFile::State {
  std::string path;       // as the user wrote it
  std::string target;     // with symbolic links followed
  std::string temporary;  // "" when the target is written in place
  int fd = -1;
  UnfinishedFile* slot = nullptr;
  CapturedOutput* capture = nullptr;  // of stdout; `captured` goes there with commit()
  std::string captured;

  // Devices, pipes and terminals. O_NONBLOCK makes open() fail instead of waiting for ever for a
  // pipe's reader; the writes themselves may wait.
  Status open_in_place() {
    fd = ::open(target.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
      return cannot_write(path, errno, errno == ENXIO ? "; no program reads this pipe" : "");
    }
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    return ok_status();
  }

  // `replaced` is what the target is now, or null.
  Status open_temporary(const struct stat* replaced) {
    temporary = target + ".tmpXXXXXX";
    const NewTemporary made = make_temporary(temporary);
    fd = made.fd;
    slot = made.slot;
    if (fd < 0) {
      const int error = errno;
      temporary.clear();
      return cannot_write(path, error, kCheckDirectory);
    }
    // Root writes files of other users, too: they keep their owner. Anyone else owns what they
    // replace or gets it by writing, so a refusal is not an error.
    if (replaced != nullptr && ::fchown(fd, replaced->st_uid, replaced->st_gid) != 0) {
      errno = 0;
    }
    const mode_t mode =
        replaced == nullptr ? default_permissions() : replaced->st_mode & kPermissionBits;
    if (::fchmod(fd, mode) != 0) {
      return cannot_write(path, errno, "");
    }
    return ok_status();
  }

  Status open() {
    DFSIM_ASSIGN_OR_RETURN(target, final_target(path));
    struct stat info = {};
    if (::stat(target.c_str(), &info) != 0) {
      return open_temporary(nullptr);
    }
    if (S_ISDIR(info.st_mode)) {
      return cannot_write(path, EISDIR, "; name a file");
    }
    if (!S_ISREG(info.st_mode)) {
      return open_in_place();
    }
    // A rename needs no right to the file itself; a file that its owner protects stays protected.
    if (::access(target.c_str(), W_OK) != 0) {
      return cannot_write(path, errno, "");
    }
    return open_temporary(&info);
  }

  void discard() {
    if (fd >= 0) {
      ::close(std::exchange(fd, -1));
    }
    if (!temporary.empty()) {
      ::unlink(temporary.c_str());
      temporary.clear();
    }
    forget_unfinished(std::exchange(slot, nullptr));
  }

  ~State() { discard(); }
};

OutputFile::OutputFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
OutputFile::OutputFile(OutputFile&&) noexcept = default;
OutputFile& OutputFile::operator=(OutputFile&&) noexcept = default;
OutputFile::~OutputFile() = default;

StatusOr<OutputFile> OutputFile::open(const std::string& path) {
  auto state = std::make_unique<State>();
  state->path = path == "-" ? "stdout" : path;
  state->capture = path == "-" ? CapturedOutput::current() : nullptr;
  if (state->capture != nullptr) {
    return OutputFile(std::move(state));
  }
  if (path == "-") {
    state->fd = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    if (state->fd < 0) {
      return cannot_write(state->path, errno, "");
    }
  } else {
    DFSIM_RETURN_IF_ERROR(state->open());
  }
  return OutputFile(std::move(state));
}

Status OutputFile::write(std::string_view bytes) {
  if (state_->capture != nullptr) {
    state_->captured += bytes;
    return ok_status();
  }
  while (!bytes.empty()) {
    const ssize_t count = ::write(state_->fd, bytes.data(), bytes.size());
    if (count < 0) {
      if (errno == EINTR) {
        continue;
      }
      return cannot_write(state_->path, errno, "");
    }
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return ok_status();
}

Status OutputFile::commit() {
  State& s = *state_;
  if (s.capture != nullptr) {
    s.capture->text() += std::exchange(s.captured, {});
    return ok_status();
  }
  // Some file systems report a full disk only here.
  const bool closed = ::close(std::exchange(s.fd, -1)) == 0;
  if (!closed || (!s.temporary.empty() && ::rename(s.temporary.c_str(), s.target.c_str()) != 0)) {
    const int error = errno;
    s.discard();
    return cannot_write(s.path, error, "");
  }
  s.temporary.clear();
  forget_unfinished(std::exchange(s.slot, nullptr));
  return ok_status();
}

void remove_unfinished_output() noexcept {
  // A thread that makes a file right now enters it in microseconds, unless its file system hangs.
  for (int waits = 0; being_made > 0 && waits < kMaxWaits; ++waits) {
    ::poll(nullptr, 0, 1);  // a millisecond; among the calls that a signal handler may make
  }
  for (UnfinishedFile& slot : unfinished_files) {
    if (slot.visible) {
      ::unlink(slot.path.data());
    }
  }
}

namespace {

// The reason why no folder can be created in `folder`, 0 where one can: some file systems (/proc)
// refuse although the rights allow it. Leaves nothing behind.
int try_to_create_in(const std::filesystem::path& folder) {
  const std::string probe = (folder / fmt::format(".dfsim-{}", ::getpid())).string();
  if (::mkdir(probe.c_str(), S_IRWXU) != 0) {
    return errno == EEXIST ? 0 : errno;
  }
  ::rmdir(probe.c_str());
  return 0;
}

}  // namespace

Status check_writable_directory(const std::string& path) {
  std::error_code error;
  std::filesystem::path nearest = std::filesystem::absolute(path, error);
  while (!std::filesystem::exists(nearest, error) && !error && nearest.has_relative_path()) {
    nearest = nearest.parent_path();
  }
  int reason = error.value();
  if (reason == 0 && !std::filesystem::is_directory(nearest, error)) {
    reason = ENOTDIR;
  }
  if (reason == 0 && ::access(nearest.c_str(), W_OK | X_OK) != 0) {
    reason = errno;
  }
  if (reason == 0 && !std::filesystem::exists(path, error)) {
    reason = try_to_create_in(nearest);
  }
  return reason == 0
             ? ok_status()
             : failed(fmt::format("{}: cannot be created: {}", path, std::strerror(reason)));
}

}  // namespace dfsim::inline base
