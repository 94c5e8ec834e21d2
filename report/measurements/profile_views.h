// Text and JSON of `dfsim profiles` (docs/commands/profiles.md).
#pragma once

#include <span>
#include <string>

#include "base/json/json_tree.h"
#include "study/profiles/profiles.h"

namespace dfsim::inline report {

// `output` names the file that the profile went to; `model` the one that completed rows.
JsonTree profile_import_json(const ProfileImport& imported, const std::string& output);
std::string profile_import_text(const ProfileImport& imported, const std::string& output,
                                const std::string& model);

JsonTree profile_checks_json(std::span<const ProfileCheck> checks);
std::string profile_checks_text(std::span<const ProfileCheck> checks);

JsonTree profile_summary_json(const ProfileSummary& summary);
std::string profile_summary_text(const ProfileSummary& summary);

}  // namespace dfsim::inline report
