// Profiles in files: CSV (".csv") and JSON Lines (".jsonl"), each also as ".gz" or ".xz".
//
// Columns and keys: datasets/profiles/SCHEMA.md. Reading streams; a packed file is recognised by
// its first bytes whatever its name is, and JSON Lines by a first line that starts with '{'.
// Complexity: O(bytes); about 300,000 rows a second.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "base/status.h"
#include "datasets/profiles/profile.h"

namespace dfsim::inline datasets {

// Reads one file. Rows whose time or cells cannot be used are left out and counted in `drops`.
// Errors (kInvalidInput unless said): kNotFound; not text, truncated gzip or xz, a line over the
// limit, another schema (the message names the nearest column), or not one usable row.
StatusOr<Profile> read_profile(const std::string& path, DropReport* drops);
// Reads and appends several.
StatusOr<Profile> read_profiles(std::span<const std::string> paths, DropReport* drops);

// Writes all rows in order; the format follows the name (".jsonl", also packed, else CSV). The
// same profile gives the same bytes.
Status write_profile(const Profile& profile, const std::string& path);

// The least possible time of a row in ns (a roofline bound), or 0 when it is not known. The caller
// gives it, because bounds live in opmodel/.
using BoundFn = std::function<double(const Profile&, const ProfileRow&)>;
// Leaves out rows faster than half of their bound, counted as kImpossible under `file`.
void drop_impossible(Profile& profile, const BoundFn& bound_ns, std::string_view file,
                     DropReport* drops);

}  // namespace dfsim::inline datasets
