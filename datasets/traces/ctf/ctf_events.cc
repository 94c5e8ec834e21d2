// The library reads in a child process, which sends records through a pipe: four bytes of length,
// one of what it is, then its values. Whatever damage does to the child, this process goes on.
#include "datasets/traces/ctf/ctf_events.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "datasets/traces/ctf/ctf_library.h"

namespace dfsim::inline datasets {
namespace {

constexpr char kEvent = 'e';
constexpr char kSummary = 's';
constexpr char kError = 'x';
constexpr size_t kFlushBytes = size_t{1} << 16;
constexpr uint32_t kMostRecordBytes = uint32_t{1} << 28;

class RecordWriter {
 public:
  explicit RecordWriter(int file) : file_(file) {}

  void begin(char kind) {
    begin_ = buffer_.size();
    number(uint32_t{0});
    buffer_ += kind;
  }
  template <typename T>
  void number(T value) {
    buffer_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void text(std::string_view value) {
    number(static_cast<uint32_t>(value.size()));
    buffer_ += value;
  }
  void end() {
    const auto length = static_cast<uint32_t>(buffer_.size() - begin_ - sizeof(uint32_t));
    std::memcpy(buffer_.data() + begin_, &length, sizeof(length));
    if (buffer_.size() >= kFlushBytes) {
      flush();
    }
  }
  void flush() {
    size_t done = 0;
    while (done < buffer_.size()) {
      const ssize_t count = write(file_, buffer_.data() + done, buffer_.size() - done);
      if (count < 0 && errno != EINTR) {
        _exit(1);  // nobody listens any more
      }
      done += count > 0 ? static_cast<size_t>(count) : 0;
    }
    buffer_.clear();
  }

 private:
  int file_;
  std::string buffer_;
  size_t begin_ = 0;
};

// Values of one record; reading beyond its end gives zeros and is remembered.
class RecordReader {
 public:
  explicit RecordReader(std::string_view bytes) : bytes_(bytes) {}

  template <typename T>
  T number() {
    T value{};
    const std::string_view bytes = take(sizeof(T));
    if (bytes.size() == sizeof(T)) {
      std::memcpy(&value, bytes.data(), sizeof(T));
    }
    return value;
  }
  std::string_view text() { return take(number<uint32_t>()); }
  bool good() const { return good_; }

 private:
  std::string_view take(size_t count) {
    good_ = good_ && count <= bytes_.size();
    const std::string_view taken = good_ ? bytes_.substr(0, count) : "";
    bytes_.remove_prefix(taken.size());
    return taken;
  }

  std::string_view bytes_;
  bool good_ = true;
};

void write_event(const CtfEvent& event, RecordWriter* out) {
  out->begin(kEvent);
  out->text(event.name);
  out->number(event.time_ns);
  out->number(static_cast<uint8_t>(event.timed));
  out->number(static_cast<uint32_t>(event.fields.size()));
  for (const CtfField& field : event.fields) {
    out->text(field.name);
    out->number(static_cast<uint8_t>(field.kind));
    out->number(field.integer);
    out->number(field.real);
    out->text(field.text);
  }
  out->end();
}

bool read_event(RecordReader in, CtfEvent* event) {
  event->name = in.text();
  event->time_ns = in.number<int64_t>();
  event->timed = in.number<uint8_t>() != 0;
  const auto fields = in.number<uint32_t>();
  event->fields.clear();
  for (uint32_t i = 0; i < fields && in.good(); ++i) {
    CtfField field;
    field.name = in.text();
    const auto kind = in.number<uint8_t>();
    if (kind > static_cast<uint8_t>(CtfField::Kind::kText)) {
      return false;
    }
    field.kind = static_cast<CtfField::Kind>(kind);
    field.integer = in.number<int64_t>();
    field.real = in.number<double>();
    field.text = in.text();
    event->fields.push_back(field);
  }
  return in.good();
}

// Never returns.
[[noreturn]] void be_the_child(const std::string& folder, int file) {
  // Dies quietly, whatever this program does on signals.
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGPIPE}) {
    signal(number, SIG_DFL);
  }
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  if (const int null = open("/dev/null", O_WRONLY | O_CLOEXEC); null >= 0) {
    dup2(null, STDERR_FILENO);
  }
  RecordWriter out(file);
  const auto summary =
      read_with_library(folder, [&out](const CtfEvent& event) { write_event(event, &out); });
  out.begin(summary.ok() ? kSummary : kError);
  out.text(summary.ok() ? summary->damage : summary.status().message());
  if (summary.ok()) {
    out.number(summary->discarded);
    out.number(static_cast<uint8_t>(summary->wall_clock));
  }
  out.end();
  out.flush();
  _exit(0);
}

// Whole records from the pipe; false at its end.
class RecordSource {
 public:
  explicit RecordSource(int file) : file_(file) {}

  bool next(std::string* record) {
    uint32_t length = 0;
    std::array<char, sizeof(length)> head{};
    if (!fill(head.data(), head.size())) {
      return false;
    }
    std::memcpy(&length, head.data(), sizeof(length));
    if (length == 0 || length > kMostRecordBytes) {
      return false;
    }
    record->resize(length);
    return fill(record->data(), length);
  }

 private:
  bool fill(char* to, size_t count) {
    while (count > 0) {
      if (at_ == size_ && !refill()) {
        return false;
      }
      const size_t some = std::min(count, size_ - at_);
      std::memcpy(to, buffer_.data() + at_, some);
      at_ += some;
      to += some;
      count -= some;
    }
    return true;
  }
  bool refill() {
    ssize_t count = 0;
    do {
      count = read(file_, buffer_.data(), buffer_.size());
    } while (count < 0 && errno == EINTR);
    at_ = 0;
    size_ = count > 0 ? static_cast<size_t>(count) : 0;
    return size_ > 0;
  }

  int file_;
  std::array<char, kFlushBytes> buffer_{};
  size_t at_ = 0;
  size_t size_ = 0;
};

struct Received {
  int64_t events = 0;
  bool complete = false;  // summary or error came
  CtfSummary summary;
  std::string error;
};

Received receive(int file, const std::function<void(const CtfEvent&)>& on_event) {
  Received received;
  RecordSource source(file);
  std::string record;
  CtfEvent event;
  while (!received.complete && source.next(&record)) {
    RecordReader in(std::string_view(record).substr(1));
    if (record[0] == kEvent) {
      if (!read_event(in, &event)) {
        break;
      }
      ++received.events;
      on_event(event);
      continue;
    }
    const std::string text(in.text());
    (record[0] == kError ? received.error : received.summary.damage) = text;
    if (record[0] == kSummary) {
      received.summary.discarded = in.number<int64_t>();
      received.summary.wall_clock = in.number<uint8_t>() != 0;
    }
    received.complete = in.good();
  }
  return received;
}

std::string how_it_ended(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status)
             ? fmt::format("libbabeltrace2 died of signal {} on it", WTERMSIG(status))
             : std::string("libbabeltrace2 gave up on it");
}

}  // namespace

StatusOr<CtfSummary> read_ctf_events(const std::string& folder,
                                     const std::function<void(const CtfEvent&)>& on_event) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return failed(fmt::format("no pipe: {}", std::strerror(errno)));
  }
  const pid_t child = fork();
  if (child < 0) {
    const std::string reason = std::strerror(errno);
    close(ends[0]);
    close(ends[1]);
    return failed(fmt::format("no process to read it in: {}", reason));
  }
  if (child == 0) {
    be_the_child(folder, ends[1]);
  }
  close(ends[1]);
  Received received = receive(ends[0], on_event);
  close(ends[0]);
  const std::string end = how_it_ended(child);
  if (received.complete && received.error.empty()) {
    return received.summary;
  }
  const std::string reason = received.error.empty() ? end : received.error;
  if (received.events == 0) {
    return invalid_input(received.error.empty() ? fmt::format("no event can be read: {}", reason)
                                                : reason);
  }
  received.summary.damage = reason;
  return received.summary;
}

}  // namespace dfsim::inline datasets
