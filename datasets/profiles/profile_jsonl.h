// One line of a JSON Lines profile to cells and back.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "datasets/profiles/profile_columns.h"

namespace dfsim::inline datasets {

class ProfileLineParser {
 public:
  ProfileLineParser();
  ~ProfileLineParser();
  // Fills the cells of one line, valid until the next call. Gives what is wrong, or "".
  std::string parse(std::string_view line, ProfileCells* cells);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Appends the row as one object, empty cells left out, without a line end.
void append_profile_line(const Profile& profile, const ProfileRow& row, std::string* out);

}  // namespace dfsim::inline datasets
