// Scheduling policies written in Python: one call per plan, with arrays.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "python/binding.h"
#include "schedulers/registry.h"

namespace dfsim::python {

// A name, and the object that plans (dfsim.Scheduler).
using NamedPolicy = std::pair<std::string, nb::object>;

// The built-in policies and these. The objects and `progress`, which keeps their exceptions,
// outlive the result. Throws StatusError when a name is taken.
PolicyRegistry registry_with(const std::vector<NamedPolicy>& policies, PythonProgress& progress);

}  // namespace dfsim::python
