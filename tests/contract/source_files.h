// The sources themselves, for tests that compare them with the tables of the program.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace dfsim {

struct SourceFile {
  std::string path;  // from the root of the sources
  std::string text;
};

// Files below `folder` whose names match `name`, sorted by path.
inline std::vector<SourceFile> source_files(const std::string& folder, const std::string& name) {
  namespace fs = std::filesystem;
  const fs::path root(DFSIM_SOURCE_DIR);
  const std::regex pattern(name);
  std::vector<SourceFile> files;
  for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
    if (entry.is_regular_file() && std::regex_match(entry.path().filename().string(), pattern)) {
      std::stringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      files.push_back({fs::relative(entry.path(), root).string(), text.str()});
    }
  }
  std::sort(files.begin(), files.end(),
            [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return files;
}

// The text without its anonymous namespaces: what other files can call.
inline std::string callable_text(const std::string& text) {
  std::string out;
  size_t at = 0;
  while (at < text.size()) {
    const size_t open = text.find("\nnamespace {\n", at);
    const size_t close = open == std::string::npos ? open : text.find("\n}  // namespace\n", open);
    out += text.substr(at, open == std::string::npos ? open : open - at);
    at = close == std::string::npos ? text.size() : close + 17;
  }
  return out;
}

// The first group of `pattern` for each match in `text`, sorted. '^' and '$' stand for lines' ends.
inline std::vector<std::string> names_in(const std::string& text, const std::string& pattern) {
  const std::regex expression(pattern, std::regex::ECMAScript | std::regex::multiline);
  std::vector<std::string> names;
  for (std::sregex_iterator it(text.begin(), text.end(), expression), end; it != end; ++it) {
    names.push_back((*it)[1].str());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// The same of all those files together.
inline std::vector<std::string> names_in(const std::vector<SourceFile>& files,
                                         const std::string& pattern) {
  std::string all;
  for (const SourceFile& file : files) {
    all += callable_text(file.text);
  }
  return names_in(all, pattern);
}

inline std::string table_text(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(std::string(DFSIM_SOURCE_DIR) + "/" + path).rdbuf();
  return text.str();
}

}  // namespace dfsim
