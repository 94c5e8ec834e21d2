// The page at "/": drop a model, choose machines, see the prediction. One file that loads nothing
// from elsewhere.
#pragma once

#include <string_view>

namespace dfsim::server {

std::string_view explorer_page();

}  // namespace dfsim::server
