// The library reads in a child process, which sends records through a pipe: four bytes of length,
// one of what it is, then its values. If a damaged file crashes the child, this process continues.
// The names of a class of events travel once, in a record of their own; its events give its number.
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
#include <deque>
#include <unordered_map>
#include <vector>

#include "datasets/traces/ctf/ctf_library.h"

namespace dfsim::inline datasets {
namespace {

constexpr char kEvent = 'e';
constexpr char kShape = 'n';
constexpr char kSummary = 's';
constexpr char kError = 'x';
constexpr size_t kFlushBytes = size_t{1} << 18;
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
        _exit(1);  // the parent no longer reads
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

// Sends events, and before the first of each class its shape.
class EventWriter {
 public:
  explicit EventWriter(RecordWriter* out) : out_(out) {}

  void write(const CtfEvent& event) {
    const auto [known, is_new] =
        numbers_.try_emplace(event.shape, static_cast<uint32_t>(numbers_.size()));
    if (is_new) {
      write_shape(*event.shape);
    }
    out_->begin(kEvent);
    out_->number(known->second);
    out_->number(event.time_ns);
    out_->number(event.clock_offset_ns);
    out_->number(static_cast<uint8_t>(event.timed));
    for (const CtfField& field : event.fields) {
      out_->number(static_cast<uint8_t>(field.kind));
      if (field.kind == CtfField::Kind::kText) {
        out_->text(field.text);
      } else if (field.kind == CtfField::Kind::kReal) {
        out_->number(field.real);
      } else {
        out_->number(field.integer);
      }
    }
    out_->end();
  }

 private:
  void write_shape(const CtfShape& shape) {
    out_->begin(kShape);
    out_->text(shape.name);
    out_->number(static_cast<uint32_t>(shape.payload));
    out_->number(static_cast<uint32_t>(shape.fields.size()));
    for (const std::string& field : shape.fields) {
      out_->text(field);
    }
    out_->end();
  }

  RecordWriter* out_;
  std::unordered_map<const CtfShape*, uint32_t> numbers_;
};

// The other end of EventWriter.
class EventReader {
 public:
  bool read_shape(RecordReader in) {
    CtfShape& shape = shapes_.emplace_back();
    shape.name = in.text();
    shape.payload = in.number<uint32_t>();
    const auto fields = in.number<uint32_t>();
    for (uint32_t i = 0; i < fields && in.good(); ++i) {
      shape.fields.emplace_back(in.text());
    }
    shape.find_roles();
    return in.good();
  }

  bool read_event(RecordReader in, CtfEvent* event) const {
    const auto number = in.number<uint32_t>();
    if (number >= shapes_.size()) {
      return false;
    }
    event->shape = &shapes_[number];
    event->time_ns = in.number<int64_t>();
    event->clock_offset_ns = in.number<int64_t>();
    event->timed = in.number<uint8_t>() != 0;
    event->fields.clear();
    for (const std::string& name : event->shape->fields) {
      CtfField field;
      field.name = name;
      const auto kind = in.number<uint8_t>();
      if (kind > static_cast<uint8_t>(CtfField::Kind::kText)) {
        return false;
      }
      field.kind = static_cast<CtfField::Kind>(kind);
      if (field.kind == CtfField::Kind::kText) {
        field.text = in.text();
      } else if (field.kind == CtfField::Kind::kReal) {
        field.real = in.number<double>();
      } else {
        field.integer = in.number<int64_t>();
      }
      event->fields.push_back(field);
    }
    return in.good();
  }

 private:
  std::deque<CtfShape> shapes_;  // their addresses stay
};

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
  EventWriter events(&out);
  const auto summary =
      read_with_library(folder, [&events](const CtfEvent& event) { events.write(event); });
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

// Whole records from the pipe.
class RecordSource {
 public:
  explicit RecordSource(int file) : file_(file), buffer_(kFlushBytes) {}

  // The next record, valid until the one after it; empty at the end.
  std::string_view next() {
    uint32_t length = 0;
    if (!fill(sizeof(length))) {
      return {};
    }
    std::memcpy(&length, buffer_.data() + at_, sizeof(length));
    at_ += sizeof(length);
    if (length == 0 || length > kMostRecordBytes || !fill(length)) {
      return {};
    }
    const std::string_view record(buffer_.data() + at_, length);
    at_ += length;
    return record;
  }

 private:
  // Reads on until `count` bytes are there, in one piece.
  bool fill(size_t count) {
    if (size_ - at_ >= count) {
      return true;
    }
    std::memmove(buffer_.data(), buffer_.data() + at_, size_ - at_);
    size_ -= at_;
    at_ = 0;
    if (buffer_.size() < count) {
      buffer_.resize(count);
    }
    while (size_ < count) {
      const ssize_t some = read(file_, buffer_.data() + size_, buffer_.size() - size_);
      if (some == 0 || (some < 0 && errno != EINTR)) {
        return false;
      }
      size_ += some > 0 ? static_cast<size_t>(some) : 0;
    }
    return true;
  }

  int file_;
  std::vector<char> buffer_;
  size_t at_ = 0;    // what follows is not yet read
  size_t size_ = 0;  // that the buffer holds
};

struct Received {
  int64_t events = 0;
  bool complete = false;  // summary or error came
  bool stopped = false;   // by who gets the events
  CtfSummary summary;
  std::string error;
};

Received receive(int file, const std::function<bool(const CtfEvent&)>& on_event) {
  Received received;
  RecordSource source(file);
  EventReader events;
  CtfEvent event;
  for (std::string_view record = source.next(); !record.empty();
       record = received.complete || received.stopped ? std::string_view() : source.next()) {
    RecordReader in(record.substr(1));
    if (record[0] == kShape) {
      if (!events.read_shape(in)) {
        break;
      }
      continue;
    }
    if (record[0] == kEvent) {
      if (!events.read_event(in, &event)) {
        break;
      }
      ++received.events;
      received.stopped = !on_event(event);
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
                                     const std::function<bool(const CtfEvent&)>& on_event) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return failed(fmt::format("no pipe: {}", std::strerror(errno)));
  }
#ifdef F_SETPIPE_SZ
  // Fewer changes between the two processes; a system that refuses keeps its 64 kB.
  static_cast<void>(fcntl(ends[0], F_SETPIPE_SZ, static_cast<int>(kFlushBytes)));
#endif
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
  if (received.stopped) {
    kill(child, SIGKILL);  // its pipe is closed
  }
  const std::string end = how_it_ended(child);
  if (received.stopped || (received.complete && received.error.empty())) {
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
