// dfsim serve-api: the use cases behind HTTP, and a page to ask them with.
#include <fmt/format.h>

#include <memory>
#include <thread>

#include "cli/commands/commands.h"
#include "server/api/api_server.h"

namespace dfsim::cli {
namespace {

constexpr double kBytesPerMb = 1e6;

struct ServeApiCommand {
  server::ApiOptions api;
  uint32_t port = 8573;
  uint32_t workers = 0;
  uint32_t waiting = 64;
  uint32_t connections = 256;
  double upload_mb = 16'000;
  double model_mb = 256;
  double stored_mb = 2'000;
  double time_limit_s = 60;
};

Status run_serve_api(const ServeApiCommand& command, bool quiet) {
  server::ApiOptions options = command.api;
  options.port = static_cast<uint16_t>(command.port);
  options.version = DFSIM_VERSION;
  options.http.workers =
      command.workers > 0 ? command.workers : std::max(1U, std::thread::hardware_concurrency());
  options.http.waiting = command.waiting;
  options.http.connections = command.connections;
  options.http.request_time =
      std::chrono::milliseconds(static_cast<int64_t>(command.time_limit_s * 1e3));
  options.store.upload_bytes = static_cast<uint64_t>(command.upload_mb * kBytesPerMb);
  options.store.model_bytes = static_cast<uint64_t>(command.model_mb * kBytesPerMb);
  options.store.stored_bytes = static_cast<uint64_t>(command.stored_mb * kBytesPerMb);
  return serve_api(options, [&](const std::string& address) {
    if (!quiet) {
      fmt::print(stderr, "dfsim serves {} (OpenAPI: {}openapi.json); Ctrl-C ends it\n", address,
                 address);
    }
  });
}

OptionTable serve_api_options(ServeApiCommand& o) {
  return {
      {.names = "--address",
       .target = &o.api.address,
       .help = "The IP address to listen on; anything but a loopback address lets other machines "
               "in, and there is no login; default: 127.0.0.1",
       .value = "IP"},
      {.names = "--port",
       .target = &o.port,
       .help = "The port; 0: any free one; default: 8573",
       .value = "N",
       .range = {0, 65535}},
      {.names = "--workers",
       .target = &o.workers,
       .help = "Answer this number of questions at a time; default: one per core",
       .value = "N",
       .range = {1, 1024}},
      {.names = "--waiting",
       .target = &o.waiting,
       .help = "Questions that may wait; more are refused with 503; default: 64",
       .value = "N",
       .range = {0, 100000}},
      {.names = "--connections",
       .target = &o.connections,
       .help = "Connections at a time; more are refused with 503; default: 256",
       .value = "N",
       .range = {1, 10000}},
      {.names = "--time-limit",
       .target = &o.time_limit_s,
       .help = "Seconds for an answer; then 504; default: 60",
       .value = "S",
       .range = {0.001, 86400}},
      {.names = "--max-upload-mb",
       .target = &o.upload_mb,
       .help = "Greatest model as it is sent, with its weights; default: 16000",
       .value = "MB",
       .positive = true},
      {.names = "--max-model-mb",
       .target = &o.model_mb,
       .help = "Greatest model without its weights, which are never stored; default: 256",
       .value = "MB",
       .positive = true},
      {.names = "--max-stored-mb",
       .target = &o.stored_mb,
       .help = "All uploaded models together; the longest unused ones go first; default: 2000",
       .value = "MB",
       .positive = true},
      {.names = "--max-memory-gb",
       .target = &o.api.max_memory_gb,
       .help = "Memory of the server; a question that needs more is refused with 503; 0: no limit; "
               "default: 4",
       .value = "GB",
       .range = {0, 1e6}},
  };
}

}  // namespace

CommandSpec serve_api_command() {
  const auto options = std::make_shared<ServeApiCommand>();
  return {.name = "serve-api",
          .summary = "Answer questions over HTTP, with a web page to ask them",
          .options = serve_api_options(*options),
          .examples = {{"dfsim serve-api --port 8573",
                        "the explorer at http://127.0.0.1:8573/, for this machine alone"},
                       {"curl --data-binary @model.onnx "
                        "'http://127.0.0.1:8573/v1/predict?hw=a100&batch=8'",
                        "what dfsim predict model.onnx --hw a100 --batch 8 --json prints"}},
          .run = [options](const GlobalOptions& global) {
            return run_serve_api(*options, global.quiet);
          }};
}

}  // namespace dfsim::cli
