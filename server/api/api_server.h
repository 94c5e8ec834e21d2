// The server of `dfsim serve-api`: routes, uploaded models, questions, metrics and the page.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "server/http/http_server.h"
#include "server/models/model_store.h"

namespace dfsim::server {

struct ApiOptions {
  std::string address = "127.0.0.1";
  uint16_t port = 8573;
  HttpLimits http;
  StoreLimits store;
  double max_memory_gb = 4;  // of the process, heap alone; 0 = no limit
  std::string version = "0";
};

// Routes as a client sees them, and the OpenAPI description that has each of them.
class ApiService : public HttpHandler {
 public:
  static StatusOr<std::unique_ptr<ApiService>> create(const ApiOptions& options);
};

// Serves until a signal SIGINT or SIGTERM. `ready` learns the address: "http://127.0.0.1:8573/".
// Errors: the address cannot be listened on, no temporary directory.
Status serve_api(const ApiOptions& options, const std::function<void(const std::string&)>& ready);

}  // namespace dfsim::server
