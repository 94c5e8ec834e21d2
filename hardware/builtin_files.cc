// Looks a hardware or runtime file up: as a path first, then by file name and alias among those
// that ship. Aliases are read from the first lines of the files without parsing them, since a
// lookup must not load forty files.
#include "hardware/builtin_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "base/io/data_dir.h"
#include "base/io/file.h"
#include "base/text.h"
#include "hardware/yaml/yaml_tree.h"

namespace dfsim::inline hardware {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExtension = ".yaml";
constexpr size_t kMaxNameLength = 64;

std::string subfolder(FileKind kind) {
  return kind == FileKind::kPlatform ? "hardware/platforms" : "hardware/runtimes";
}

// Paths of the built-in files by name, of the first data folder that has a file of that name.
std::map<std::string, fs::path> builtin_paths(FileKind kind) {
  std::map<std::string, fs::path> paths;
  for (const std::string& data_folder : data_dirs()) {
    std::error_code error;
    for (fs::recursive_directory_iterator it(fs::path(data_folder) / subfolder(kind), error), end;
         !error && it != end; it.increment(error)) {
      if (it->path().extension() == kExtension) {
        paths.emplace(it->path().stem().string(), it->path());
      }
    }
  }
  return paths;
}

bool is_name_char(unsigned char c) {
  return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
}

// The names in the top-level `aliases` of a built-in file, found without parsing the file: those
// files are in block style, with this key at the start of a line (a test checks this against the
// parsed aliases of each).
std::vector<std::string> aliases_in(std::string_view text) {
  constexpr std::string_view kKey = "\naliases:";
  const size_t start = text.find(kKey);
  std::vector<std::string> names;
  if (start == std::string_view::npos) {
    return names;
  }
  std::string_view rest = text.substr(start + kKey.size());
  // The value ends before the next line that is not indented.
  for (size_t end = rest.find('\n'); end != std::string_view::npos;
       end = rest.find('\n', end + 1)) {
    if (end + 1 < rest.size() && is_name_char(static_cast<unsigned char>(rest[end + 1]))) {
      rest = rest.substr(0, end);
      break;
    }
  }
  std::string name;
  for (const char c : std::string(rest) + " ") {
    if (is_name_char(static_cast<unsigned char>(c))) {
      name += c;
    } else if (!name.empty()) {
      names.push_back(std::exchange(name, ""));
    }
  }
  return names;
}

StatusOr<FoundFile> read_found(const std::string& path) {
  DFSIM_ASSIGN_OR_RETURN(std::string text, read_file(path, kMaxYamlBytes));
  return FoundFile{path, std::move(text)};
}

struct BuiltinNames {
  std::string name;
  std::vector<std::string> aliases;
  std::string vendor;  // of a machine: the folder of its file
};

// The machines of a family or vendor, for one who gave only that: "rtx", "mi", "nvidia".
std::vector<std::string> related_machines(std::string_view lower,
                                          const std::vector<BuiltinNames>& known) {
  constexpr size_t kShortestPart = 3;   // within a name
  constexpr size_t kShortestStart = 2;  // at its start
  std::vector<std::string> related;
  for (const BuiltinNames& machine : known) {
    const auto has_part = [&](const std::string& name) {
      return lower.size() >= kShortestPart ? name.find(lower) != std::string::npos
                                           : name.starts_with(lower);
    };
    if (lower.size() >= kShortestStart && (machine.vendor == lower || has_part(machine.name) ||
                                           std::ranges::any_of(machine.aliases, has_part))) {
      related.push_back(fmt::format("'{}'", machine.name));
    }
  }
  return related;
}

Status unknown_name(FileKind kind, const std::string& name,
                    const std::vector<BuiltinNames>& known) {
  const bool is_machine = kind == FileKind::kPlatform;
  const std::string_view what = is_machine ? "hardware" : "runtime";
  if (known.empty()) {
    return not_found(
        fmt::format("{}: found no such file and no built-in {} files, expected one; "
                    "set DFSIM_DATA_DIR to the folder that holds {}/",
                    printable(name), what, subfolder(kind)));
  }
  std::vector<std::string> names;
  for (const BuiltinNames& each : known) {
    names.push_back(each.name);
    names.insert(names.end(), each.aliases.begin(), each.aliases.end());
  }
  if (is_machine) {
    std::vector<std::string> meant = related_machines(to_lower(name), known);
    const std::string nearest = meant.empty() ? nearest_name(name, names) : "";
    if (!nearest.empty()) {
      meant.push_back(fmt::format("'{}'", nearest));
    }
    std::string list;  // "'a', 'b' or 'c'"
    if (!meant.empty()) {
      const std::string last = std::move(meant.back());
      meant.pop_back();
      list = meant.empty() ? last : fmt::format("{} or {}", join(meant, ", "), last);
    }
    return not_found(fmt::format(
        "unknown hardware '{}'; {}dfsim hardware lists the machines that dfsim knows; a path to a "
        ".yaml file works too",
        printable(name), list.empty() ? "" : fmt::format("did you mean {}? ", list)));
  }
  return not_found(fmt::format("{}; a path to a .yaml file works too",
                               unknown_name_message(what, name, std::move(names))));
}

StatusOr<FoundFile> find_builtin(FileKind kind, const std::string& name) {
  const std::string stem =
      name.ends_with(kExtension) ? name.substr(0, name.size() - kExtension.size()) : name;
  const std::string lower = to_lower(stem);
  const std::map<std::string, fs::path> paths = builtin_paths(kind);
  if (const auto it = paths.find(lower); it != paths.end()) {
    return read_found(it->second.string());
  }
  std::vector<BuiltinNames> known;
  for (const auto& [builtin, path] : paths) {
    DFSIM_ASSIGN_OR_RETURN(FoundFile file, read_found(path.string()));
    std::vector<std::string> aliases = aliases_in(file.text);
    if (std::find(aliases.begin(), aliases.end(), lower) != aliases.end()) {
      return file;
    }
    known.push_back({builtin, std::move(aliases), path.parent_path().filename().string()});
  }
  return unknown_name(kind, stem, known);
}

}  // namespace

StatusOr<FoundFile> find_settings_file(FileKind kind, const std::string& name_or_path,
                                       const std::string& folder) {
  std::error_code error;
  if (!folder.empty()) {
    const fs::path beside = fs::path(folder) / name_or_path;
    if (fs::is_regular_file(beside, error)) {
      return read_found(beside.string());
    }
  }
  const bool is_path = name_or_path.find('/') != std::string::npos;
  if (is_path || fs::is_regular_file(name_or_path, error)) {
    return read_found(name_or_path);
  }
  return find_builtin(kind, name_or_path);
}

std::vector<std::string> builtin_names(FileKind kind) {
  std::vector<std::string> names;
  for (const auto& [name, path] : builtin_paths(kind)) {
    names.push_back(name);
  }
  return names;
}

bool check_name(YamlFields& fields, std::string_view key, std::string_view name) {
  const bool fine = !name.empty() && name.size() <= kMaxNameLength &&
                    std::all_of(name.begin(), name.end(), is_name_char);
  if (!fine) {
    fields.error(key, fmt::format("found '{}', expected a name of at most {} letters, digits, '.', "
                                  "'_' or '-'; rename it",
                                  printable(name), kMaxNameLength));
  }
  return fine;
}

bool read_name(YamlFields& fields, std::string_view key, std::string* out, Need need) {
  std::string name;
  if (!fields.text(key, &name, need) || !check_name(fields, key, name)) {
    return false;
  }
  *out = name;
  return true;
}

}  // namespace dfsim::inline hardware
