// OutputFile: the one way in which dfsim writes a file that a user named.
//
// A regular file appears at once or not at all: the bytes go to a temporary file in the same
// directory, and commit() renames it. The new file keeps the permissions of the file that it
// replaces; a symbolic link stays, and the file it points to is replaced. A target that is not a
// regular file (a device such as /dev/null, a named pipe, a terminal) is opened and written in
// place. "-" stands for stdout.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

namespace dfsim::inline base {

class OutputFile {
 public:
  // Errors (kFailed): the target is a directory, its directory does not exist or is not writable,
  // or it is a named pipe that no program reads. The message names `path` and the system's reason.
  static StatusOr<OutputFile> open(const std::string& path);
  OutputFile(OutputFile&&) noexcept;
  OutputFile& operator=(OutputFile&&) noexcept;
  // Without a successful commit() the target is untouched and the temporary file is removed.
  ~OutputFile();

  // Errors (kFailed): the disk is full, the reader of the pipe is gone, and so on.
  Status write(std::string_view bytes);
  Status commit();

 private:
  struct State;
  explicit OutputFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Whether files can be written to this directory, which may not exist yet: asked before work of
// minutes whose result goes there. Creates nothing. Error: kFailed, with the system's reason.
Status check_writable_directory(const std::string& path);

// Removes the temporary files of all OutputFiles that are open. Safe to call from a signal handler:
// a program that is about to die from a signal leaves no half-written file behind.
void remove_unfinished_output() noexcept;

}  // namespace dfsim::inline base
