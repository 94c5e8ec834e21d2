// A plugin of another interface version; nothing of it may be called.
#include <cstdlib>

#include "schedulers/plugin.h"

namespace {
dfsim::Status never_called(dfsim::PolicyRegistry&) { std::abort(); }
}  // namespace

extern "C" const dfsim::SchedulerPlugin dfsim_scheduler_plugin;
const dfsim::SchedulerPlugin dfsim_scheduler_plugin = {
    dfsim::kPluginInterfaceVersion + 1, sizeof(void*), "some compiler", never_called};
