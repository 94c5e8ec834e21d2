// Opens a shared library, checks the interface version before calling anything of it, and lets
// it add its policies. The library stays open for the life of the process, because policies are
// code in it.
#include "schedulers/plugin.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>

#include "base/text.h"

namespace dfsim::inline schedulers {

Status load_plugin(const std::string& path, PolicyRegistry& registry) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return not_found(fmt::format("{}: no such file; expected a shared library", path));
  }
  if (!std::filesystem::is_regular_file(path, error)) {  // dlopen would wait for a pipe's writer
    return invalid_input(fmt::format("{}: is not a regular file; expected a shared library", path));
  }
  // An absolute path, because dlopen searches the system's folders for a bare name.
  const std::string absolute = std::filesystem::absolute(path, error).string();
  void* library = dlopen(absolute.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    // The reason, without the file's name before it.
    std::string reason = printable(dlerror(), 300);
    if (reason.starts_with(absolute + ": ")) {
      reason = reason.substr(absolute.size() + 2);
    }
    return invalid_input(
        fmt::format("{}: cannot be loaded: {}; build it against this dfsim "
                    "(docs/reference/schedulers.md)",
                    path, reason));
  }
  const auto* plugin =
      static_cast<const SchedulerPlugin*>(dlsym(library, "dfsim_scheduler_plugin"));
  if (plugin == nullptr) {
    dlclose(library);
    return invalid_input(fmt::format(
        "{}: is not a dfsim plugin: it has no symbol dfsim_scheduler_plugin; use the macro "
        "DFSIM_SCHEDULER_PLUGIN of schedulers/plugin.h",
        path));
  }
  if (plugin->interface_version != kPluginInterfaceVersion ||
      plugin->pointer_bytes != sizeof(void*)) {
    const Status status = invalid_input(fmt::format(
        "{}: was built for plugin interface {} ({}-byte pointers), this dfsim has {} ({}); build "
        "it again with this dfsim's headers",
        path, plugin->interface_version, plugin->pointer_bytes, kPluginInterfaceVersion,
        sizeof(void*)));
    dlclose(library);
    return status;
  }
  return plugin->add_policies(registry).with_place(path);
}

}  // namespace dfsim::inline schedulers
