#include "cli/behind_dashes.h"

#include <algorithm>
#include <string>

namespace dfsim::cli {

const CommandSpec* take_behind_dashes(const CommandSpec& root, int& argc, const char* const* argv) {
  const CommandSpec* command = nullptr;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--") {
      if (command == nullptr || command->behind_dashes == nullptr) {
        return nullptr;
      }
      command->behind_dashes->assign(argv + i + 1, argv + argc);
      argc = i;
      return command;
    }
    const auto named = std::ranges::find(root.commands, word, &CommandSpec::name);
    if (command == nullptr && named != root.commands.end()) {
      command = &*named;
    }
  }
  return nullptr;
}

}  // namespace dfsim::cli
