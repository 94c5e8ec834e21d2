// RowSink: where readers put the rows of one file; it checks times and counts what is left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "datasets/importers/importer.h"
#include "datasets/profiles/profile.h"

namespace dfsim::inline datasets {

// What is wrong with a time in ns, or none when a row may have it.
std::optional<DropReason> time_problem(double time_ns);

class RowSink {
 public:
  // `file` is named in messages. Everything given must outlive the sink.
  RowSink(Profile& profile, DropReport* drops, std::string_view file)
      : profile_(profile), drops_(drops), file_(file) {}

  Profile& profile() { return profile_; }
  std::string_view file() const { return file_; }
  // Adds the row with this time, or counts why not. `spread_ns` < 0 or NaN = not known.
  void add(ProfileRow row, int64_t line, double time_ns, double spread_ns = -1);
  // Counts a row that is left out for another reason than its time.
  void drop(int64_t line, DropReason reason, std::string message);
  size_t added() const { return added_; }
  size_t dropped() const { return dropped_; }

 private:
  Profile& profile_;
  DropReport* drops_;
  std::string_view file_;
  size_t added_ = 0;
  size_t dropped_ = 0;
};

// Fills what the options override, and else the importer's own knowledge.
void set_origin(Profile& profile, const ProfileImportOptions& options, std::string_view device,
                std::string_view runtime, std::string_view version, ProfileRow* row);

}  // namespace dfsim::inline datasets
