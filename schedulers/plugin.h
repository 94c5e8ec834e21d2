// Policies from shared libraries.
//
// A plugin is built against the installed headers and defines, once:
//
//   DFSIM_SCHEDULER_PLUGIN(registry) { return registry.add({...}); }
//
// The interface is C++: it must be built with the same compiler family and standard library, and
// for the same interface version, which is checked before anything of it is called.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "schedulers/registry.h"

namespace dfsim::inline schedulers {

// Raised whenever scheduler.h, registry.h or what they include changes its layout or meaning.
inline constexpr uint32_t kPluginInterfaceVersion = 5;  // 5: decisions may pass others

// The type of the symbol `dfsim_scheduler_plugin` of a plugin.
struct SchedulerPlugin {
  uint32_t interface_version;
  uint32_t pointer_bytes;  // catches a library for another architecture model
  const char* compiler;    // for messages
  Status (*add_policies)(PolicyRegistry& registry);
};

// Loads the library and adds its policies; it stays loaded until the program ends. Errors:
// kNotFound (no such file), kInvalidInput (no library, no plugin, another interface version, a name
// that is taken). Each says what to do.
Status load_plugin(const std::string& path, PolicyRegistry& registry);

}  // namespace dfsim::inline schedulers

#define DFSIM_SCHEDULER_PLUGIN(registry)                                                 \
  static ::dfsim::Status dfsim_add_policies(::dfsim::PolicyRegistry& registry);          \
  extern "C" __attribute__((visibility("default")))                                      \
  const ::dfsim::SchedulerPlugin dfsim_scheduler_plugin;                                 \
  const ::dfsim::SchedulerPlugin dfsim_scheduler_plugin = {                              \
      ::dfsim::kPluginInterfaceVersion, sizeof(void*), __VERSION__, dfsim_add_policies}; \
  static ::dfsim::Status dfsim_add_policies(::dfsim::PolicyRegistry& registry)
