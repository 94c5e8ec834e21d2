// HttpServer: HTTP/1.1 over TCP for a handler that knows no sockets.
//
// Purpose: one thread reads and writes all connections; the handler's answers are made by a bounded
//   number of worker threads (worker_pool.h). Boost.Beast stays inside http_server.cc.
// Invariants: memory is bounded by limits: a body goes to the exchange in pieces of 64 kB, and
//   connections, waiting requests and headers are limited. Each request has a deadline. A client
//   that goes away, and a deadline, cancel the request.
// Errors that the server answers without the handler's exchange: 400 (no HTTP), 408 (a client that
// is too slow),
//   413, 431 (headers over 16 kB), 503 (too many requests), 504 (the deadline).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace dfsim::server {

struct HttpAnswer {
  int status = 200;
  std::string type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers = {};
};

// The first part of a request.
struct HttpHead {
  std::string method;
  std::string target;  // path and query, as sent
  std::string content_type;
  std::string accept;
  std::optional<uint64_t> content_length;
};

// Set when the client no longer waits for the answer.
using Cancelled = std::atomic<bool>;

// One request and its answer. The functions are called one after another.
class HttpExchange {
 public:
  HttpExchange() = default;
  virtual ~HttpExchange() = default;
  HttpExchange(const HttpExchange&) = delete;
  HttpExchange& operator=(const HttpExchange&) = delete;

  // Looks at the head alone: an answer here ends the request.
  virtual std::optional<HttpAnswer> refuse() { return std::nullopt; }
  // Bytes of the body that are accepted.
  virtual uint64_t body_limit() const { return 0; }
  // The next piece of the body. An answer ends the request.
  virtual std::optional<HttpAnswer> take(std::string_view /*piece*/) { return std::nullopt; }
  // True for answers that take no time, which the thread of the connections may make.
  virtual bool is_quick() const { return true; }
  virtual HttpAnswer answer(const Cancelled& cancelled) = 0;
  // Called once, with the status that the client got, 0 when it went away.
  virtual void finished(int /*status*/) {}
};

class HttpHandler {
 public:
  HttpHandler() = default;
  virtual ~HttpHandler() = default;
  HttpHandler(const HttpHandler&) = delete;
  HttpHandler& operator=(const HttpHandler&) = delete;

  virtual std::unique_ptr<HttpExchange> begin(const HttpHead& head) = 0;
  // The form of the errors that the server itself answers.
  virtual HttpAnswer error(int status, const std::string& message) const = 0;
};

struct HttpLimits {
  size_t workers = 2;                              // requests that are worked on at a time
  size_t waiting = 64;                             // requests that wait for a worker
  size_t connections = 256;                        // at a time
  std::chrono::milliseconds request_time{60'000};  // from the end of the body to the answer
  std::chrono::milliseconds idle_time{15'000};     // without a byte from or to the client
  std::chrono::milliseconds upload_time{600'000};  // for the whole body
};

class HttpServer {
 public:
  // Listens on an IP address; port 0 is any free one. Error: it cannot be listened on.
  static StatusOr<std::unique_ptr<HttpServer>> listen(const std::string& address, uint16_t port,
                                                      const HttpLimits& limits,
                                                      HttpHandler& handler);
  virtual ~HttpServer() = default;

  virtual uint16_t port() const = 0;
  // Serves until stop(), which any thread or another object's callback may call, and until requests
  // in work have ended. `stop_at` are signals that stop it, too; from the call of `ready` on, they
  // do.
  virtual void run(const std::vector<int>& stop_at, const std::function<void()>& ready) = 0;
  virtual void stop() = 0;

  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

 protected:
  HttpServer() = default;
};

}  // namespace dfsim::server
