// Columns of profile files: one list for CSV and JSON Lines, reading and writing.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "datasets/importers/row_sink.h"
#include "datasets/profiles/profile.h"

namespace dfsim::inline datasets {

enum class ProfileColumn : uint8_t {
  kDevice,
  kRuntime,
  kRuntimeVersion,
  kOpType,
  kOpClass,
  kAttributes,
  kInputs,
  kOutputs,
  kComputeDType,
  kTimeNs,
  kSpreadNs,
  kSamples,
  kTiming,
  kNetwork,
  kBatch,
  kCount,
  kName,
  kKernel,
  kProvenance,
};
inline constexpr size_t kProfileColumnCount = static_cast<size_t>(ProfileColumn::kProvenance) + 1;

struct ProfileColumnInfo {
  std::string_view name;
  bool required = false;
  bool number = false;  // written without quotes in JSON
};
const std::array<ProfileColumnInfo, kProfileColumnCount>& profile_columns();
// The column of that name, or -1.
int find_profile_column(std::string_view name);
std::vector<std::string> profile_column_names();

using ProfileCells = std::array<std::string_view, kProfileColumnCount>;

// Turns cells into rows of a sink. Cells of texts and shapes that repeat are parsed once.
class ProfileRowParser {
 public:
  explicit ProfileRowParser(RowSink& sink) : sink_(sink) {}
  // Adds the row, or counts it as left out.
  void add(const ProfileCells& cells, int64_t line);

 private:
  // Parses all but the times into `row`; the message of the first bad cell, or "".
  std::string parse(const ProfileCells& cells, ProfileRow* row);
  std::string parse_tensor_cell(std::string_view cell, TensorListId* id);

  RowSink& sink_;
  std::unordered_map<std::string, TensorListId> tensor_cells_;
  std::string key_;
};

// The text of one column of a row; numbers that are not known are "".
void append_cell(const Profile& profile, const ProfileRow& row, ProfileColumn column,
                 std::string* out);

}  // namespace dfsim::inline datasets
