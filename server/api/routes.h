// The routes of the server as a table, and their OpenAPI description.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dfsim::server {

enum class RouteKind : uint8_t {
  kPage,
  kHealth,
  kMetrics,
  kOpenApi,
  kHardwareList,
  kHardware,
  kModels,
  kUpload,
  kRemove,
  kQuestion,
};

struct Route {
  std::string method;
  std::string path;  // "/v1/models/{id}": a last part in braces stands for any
  RouteKind kind;
  std::string summary;
  std::string type = "application/json";  // of the answer
};

const std::vector<Route>& routes();

// The route of a method and path; `parameter` gets what stands for the braces. Null when there is
// none; then `allowed` gets the methods of the path, "" for an unknown path.
const Route* find_route(std::string_view method, std::string_view path, std::string* parameter,
                        std::string* allowed);

// The description, version 3.1.
std::string openapi_json(const std::string& version);

}  // namespace dfsim::server
