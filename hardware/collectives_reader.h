// `collectives:` of a hardware file.
#pragma once

#include "hardware/platform.h"
#include "hardware/sources.h"
#include "hardware/yaml/yaml_fields.h"

namespace dfsim::inline hardware {

// Fills `platform->collectives`; its links are complete. Errors go into `fields`: unknown
// operations, names of no link, no protocol, figures out of range.
void read_collectives(YamlFields& fields, const SourceTable& sources, Platform* platform);

}  // namespace dfsim::inline hardware
