// Short JSON texts inside profiles and traces, taken apart without copying: shapes, types, names.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace dfsim::inline datasets {

// The text of a JSON string without its quotes (escapes are left as they are); other values as they
// stand.
std::string_view unquote_json(std::string_view json);
// Elements of a JSON array, as JSON text each; empty when `json` is no array.
std::vector<std::string_view> split_json_array(std::string_view json);
// Numbers from -1 to kMaxExtent of a flat JSON array such as [1, 3, 224]; false when it is
// something else.
bool parse_json_extents(std::string_view json, std::vector<int64_t>* extents);

}  // namespace dfsim::inline datasets
