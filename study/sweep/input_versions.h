// Versions of what a prediction reads, for journals: they change when the content does. Digests, so
// that copies on several machines have one version.
#pragma once

#include <string>

namespace dfsim::inline study {

// The version of a file; "none" without one. Above 64 MB its size and the time of its last change.
std::string file_version(const std::string& path);

// The version of a model as the commands take it: a file with the values that it keeps in files of
// their own, or a folder with a SavedModel or a config.json, perhaps behind "hf:".
std::string model_version(const std::string& path);

}  // namespace dfsim::inline study
