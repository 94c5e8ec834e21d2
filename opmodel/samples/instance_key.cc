#include "opmodel/samples/instance_key.h"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "base/hash.h"

namespace dfsim::inline opmodel {
namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

}  // namespace

std::string lasting_name(std::string_view name) {
  size_t end = name.size();
  while (end > 0 && is_digit(name[end - 1])) {
    --end;
  }
  if (end < name.size() && name.substr(0, end).ends_with("-op")) {
    name = name.substr(0, end - 3);
  }
  const size_t slash = name.rfind('/');
  const size_t last = slash == std::string_view::npos ? 0 : slash + 1;
  std::string lasting(name.substr(0, last));
  std::copy_if(name.begin() + static_cast<std::ptrdiff_t>(last), name.end(),
               std::back_inserter(lasting), [](char c) { return !is_digit(c); });
  return lasting;
}

uint64_t instance_key(std::string_view device_model, std::string_view network,
                      std::string_view name, int64_t occurrence) {
  const uint64_t key = Hasher()
                           .add(device_model)
                           .add(network)
                           .add(name)
                           .add(static_cast<uint64_t>(occurrence))
                           .digest();
  return key == 0 ? 1 : key;
}

}  // namespace dfsim::inline opmodel
