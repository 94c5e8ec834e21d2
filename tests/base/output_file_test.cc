#include "base/io/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "base/io/captured_output.h"
#include "base/io/file.h"
#include "base/io/text_file.h"

namespace dfsim {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMaxBytes = 1 << 20;

// An empty directory that goes with the test.
class OutputFolder {
 public:
  OutputFolder() {
    std::string name = (fs::temp_directory_path() / "dfsim-output-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;
  ~OutputFolder() { fs::remove_all(path_); }

  std::string file(const std::string& name) const { return (path_ / name).string(); }
  size_t count() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(path_), fs::directory_iterator()));
  }

 private:
  fs::path path_;
};

std::string content_of(const std::string& path) { return read_file(path, kMaxBytes).value(); }

mode_t mode_of(const std::string& path) {
  struct stat info = {};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  return info.st_mode & 0777;
}

}  // namespace

TEST_CASE("OutputFile: a new file has the content and the default permissions") {
  const OutputFolder folder;
  const mode_t mask = ::umask(022);
  REQUIRE(write_file(folder.file("new"), "text").ok());
  ::umask(mask);
  CHECK(content_of(folder.file("new")) == "text");
  CHECK(mode_of(folder.file("new")) == 0644);
  CHECK(folder.count() == 1);
}

TEST_CASE("OutputFile: a replaced file keeps its permissions") {
  const OutputFolder folder;
  REQUIRE(write_file(folder.file("old"), "before").ok());
  REQUIRE(::chmod(folder.file("old").c_str(), 0600) == 0);
  REQUIRE(write_file(folder.file("old"), "after").ok());
  CHECK(content_of(folder.file("old")) == "after");
  CHECK(mode_of(folder.file("old")) == 0600);
}

TEST_CASE("OutputFile: a symbolic link stays and its target is replaced") {
  const OutputFolder folder;
  REQUIRE(write_file(folder.file("target"), "before").ok());
  fs::create_symlink("target", folder.file("link"));
  fs::create_symlink("missing", folder.file("dangling"));
  REQUIRE(write_file(folder.file("link"), "after").ok());
  REQUIRE(write_file(folder.file("dangling"), "new").ok());
  CHECK(fs::is_symlink(folder.file("link")));
  CHECK(content_of(folder.file("target")) == "after");
  CHECK(fs::is_symlink(folder.file("dangling")));
  CHECK(content_of(folder.file("missing")) == "new");
}

TEST_CASE("OutputFile: a loop of symbolic links is an error") {
  const OutputFolder folder;
  fs::create_symlink("b", folder.file("a"));
  fs::create_symlink("a", folder.file("b"));
  const Status status = write_file(folder.file("a"), "text");
  CHECK(status.message().find("Too many levels of symbolic links") != std::string::npos);
}

TEST_CASE("OutputFile: a device is written in place and stays a device") {
  REQUIRE(write_file("/dev/null", "text").ok());
  CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE("OutputFile: a full device is an error with the system's reason") {
  CHECK(write_file("/dev/full", "text").message() ==
        "/dev/full: cannot be written: No space left on device");
  StatusOr<TextWriter> writer = TextWriter::open("/dev/full");
  REQUIRE(writer.ok());
  REQUIRE(writer->append("text").ok());
  CHECK(writer->close().message() == "/dev/full: cannot be written: No space left on device");
}

TEST_CASE("OutputFile: a named pipe gets the bytes, or an error when no program reads it") {
  const OutputFolder folder;
  const std::string pipe = folder.file("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(write_file(pipe, "text").message().find("no program reads this pipe") != std::string::npos);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  REQUIRE(write_file(pipe, "text").ok());
  std::string bytes(8, '\0');
  CHECK(::read(reader, bytes.data(), bytes.size()) == 4);
  ::close(reader);
  CHECK(fs::is_fifo(pipe));
}

TEST_CASE("OutputFile: a directory and a missing directory are errors that leave nothing") {
  const OutputFolder folder;
  CHECK(write_file(folder.file("."), "text").message().find("Is a directory") != std::string::npos);
  CHECK(write_file(folder.file("none/file"), "text").message().find("No such file or directory") !=
        std::string::npos);
  CHECK(folder.count() == 0);
}

TEST_CASE("OutputFile: without a commit the old file stays and no temporary file is left") {
  const OutputFolder folder;
  REQUIRE(write_file(folder.file("old"), "before").ok());
  {
    StatusOr<OutputFile> file = OutputFile::open(folder.file("old"));
    REQUIRE(file.ok());
    REQUIRE(file->write("half").ok());
    CHECK(folder.count() == 2);
  }
  CHECK(folder.count() == 1);
  CHECK(content_of(folder.file("old")) == "before");
}

TEST_CASE("OutputFile: a signal handler can remove unfinished files") {
  const OutputFolder folder;
  StatusOr<OutputFile> file = OutputFile::open(folder.file("new"));
  REQUIRE(file.ok());
  CHECK(folder.count() == 1);
  remove_unfinished_output();
  CHECK(folder.count() == 0);
}

// A process that makes files until a signal ends it, as dfsim's own main() lets it end.
[[noreturn]] void make_files_for_ever(const std::string& path) {
  std::signal(SIGINT, [](int) {
    remove_unfinished_output();
    ::_exit(0);
  });
  for (;;) {
    const StatusOr<OutputFile> file = OutputFile::open(path);
    if (!file.ok()) {
      ::_exit(1);
    }
  }
}

TEST_CASE("OutputFile: a signal at any moment leaves no temporary file") {
  const OutputFolder folder;
  for (int round = 0; round < 50; ++round) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      make_files_for_ever(folder.file("new"));
    }
    // The child has set its handler once its first file is there; ten seconds are ample.
    for (int waits = 0; folder.count() == 0 && waits < 100'000; ++waits) {
      ::usleep(100);
    }
    ::usleep(static_cast<useconds_t>(37 * round));
    REQUIRE(::kill(child, SIGINT) == 0);
    int state = 0;
    REQUIRE(::waitpid(child, &state, 0) == child);
    REQUIRE(WIFEXITED(state));
    REQUIRE(WEXITSTATUS(state) == 0);
    REQUIRE(folder.count() == 0);
  }
}

TEST_CASE("check_writable_directory: a path below a file is refused, and nothing is created") {
  const OutputFolder folder;
  REQUIRE(write_file(folder.file("file"), "").ok());
  CHECK(check_writable_directory(folder.file("new/deep")).ok());
  CHECK(check_writable_directory(folder.file("")).ok());
  const Status refused = check_writable_directory(folder.file("file/model"));
  CHECK(refused.message() == folder.file("file/model") + ": cannot be created: Not a directory");
  // The rights allow it, the file system does not.
  CHECK_FALSE(check_writable_directory("/proc/dfsim-none").ok());
  CHECK(folder.count() == 1);
}

TEST_CASE("TextWriter: compressed text is the same text when it is read again") {
  const OutputFolder folder;
  const std::string path = folder.file(GENERATE("lines.gz", "lines.xz"));
  CAPTURE(path);
  std::string text;
  for (int i = 0; i < 100000; ++i) {
    text += std::to_string(i * 7919) + "\n";
  }
  StatusOr<TextWriter> writer = TextWriter::open(path);
  REQUIRE(writer.ok());
  REQUIRE(writer->append(text).ok());
  REQUIRE(writer->close().ok());
  CHECK(fs::file_size(path) < text.size() / 2);
  CHECK(read_text_file(path, kMaxBytes).value() == text);
}

TEST_CASE("CapturedOutput: what this thread writes to stdout becomes a text") {
  CapturedOutput outer;
  REQUIRE(write_file("-", "one ").ok());
  {
    CapturedOutput inner;
    REQUIRE(write_file("-", "inner").ok());
    CHECK(inner.text() == "inner");
  }
  {
    StatusOr<OutputFile> dropped = OutputFile::open("-");
    REQUIRE(dropped.ok());
    REQUIRE(dropped->write("not committed").ok());
  }
  REQUIRE(write_file("-", "two").ok());
  CHECK(outer.text() == "one two");
}

TEST_CASE("CapturedOutput: other threads keep their stdout") {
  CapturedOutput mine;
  CapturedOutput* seen = &mine;
  std::thread([&seen] { seen = CapturedOutput::current(); }).join();
  CHECK(seen == nullptr);
  CHECK(CapturedOutput::current() == &mine);
}

}  // namespace dfsim
