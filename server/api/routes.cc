// The table of routes, how a path finds its row, and the OpenAPI document made from the same
// table.
#include "server/api/routes.h"

#include <fmt/format.h>

#include "base/json/json_tree.h"
#include "server/api/questions.h"

namespace dfsim::server {
namespace {

struct ErrorStatus {
  int status;
  const char* description;
};
constexpr ErrorStatus kErrors[] = {
    {400, "Malformed request: no JSON, an unknown field, a value out of range"},
    {404, "No such model, machine or route"},
    {405, "The route has other methods, see the header Allow"},
    {408, "The client sends too slowly"},
    {413, "The body is larger than the limit"},
    {415, "The body is neither JSON nor a model's bytes"},
    {422, "The question is well-formed, but the model or the machine cannot answer it"},
    {500, "The work failed"},
    {503, "Too many requests or connections, or too little memory; try again later"},
    {504, "The answer takes longer than the limit"},
};

JsonTree json_content(const char* type, JsonTree schema) {
  JsonTree content = JsonTree::object();
  content[type]["schema"] = std::move(schema);
  return content;
}

JsonTree responses_of(const Route& route) {
  const bool is_created = route.kind == RouteKind::kUpload;
  JsonTree responses = JsonTree::object();
  JsonTree& good = responses[is_created ? "201" : "200"];
  good["description"] = "Fine";
  JsonTree schema = {{"type", route.type == "application/json" ? "object" : "string"}};
  good["content"] = json_content(route.type.c_str(), std::move(schema));
  for (const ErrorStatus& error : kErrors) {
    responses[std::to_string(error.status)] = {
        {"description", error.description},
        {"content", json_content("application/json", {{"$ref", "#/components/schemas/Error"}})}};
  }
  return responses;
}

JsonTree parameter_json(std::string_view name, std::string_view where, std::string_view help,
                        bool required) {
  return {{"name", name},
          {"in", where},
          {"description", help},
          {"required", required},
          {"schema", {{"type", "string"}}}};
}

JsonTree model_bytes() {
  return {{"type", "string"},
          {"format", "binary"},
          {"description",
           "The bytes of a model file: ONNX, GraphDef, or ONNX packed by gzip or "
           "zip. Weights are skipped while they arrive"}};
}

JsonTree question_body(const std::string& name) {
  for (const QuestionKind& kind : question_kinds()) {
    if (kind.name == name) {
      const auto question = kind.make();
      QuestionFields fields = question->fields();
      std::string model;
      fields.insert(
          fields.begin(),
          {"model", &model, "The id of an uploaded model, or the name of one that ships with dfsim",
           0, 0, FieldKind::kName});
      fields.front().required = true;
      JsonTree content = json_content("application/json", fields_schema(fields));
      content["application/octet-stream"]["schema"] = model_bytes();
      return {{"required", true},
              {"description",
               "A question about a known model as JSON; or a model's bytes, and the "
               "same fields but model in the query"},
              {"content", std::move(content)}};
    }
  }
  return nullptr;
}

}  // namespace

const std::vector<Route>& routes() {
  static const std::vector<Route> kRoutes = [] {
    std::vector<Route> all = {
        {"GET", "/", RouteKind::kPage, "A page to ask questions with", "text/html"},
        {"GET", "/health", RouteKind::kHealth, "Whether the server runs, and its version"},
        {"GET", "/metrics", RouteKind::kMetrics, "Counts for Prometheus", "text/plain"},
        {"GET", "/openapi.json", RouteKind::kOpenApi, "This description"},
        {"GET", "/v1/hardware", RouteKind::kHardwareList, "The machines, as dfsim hardware --json"},
        {"GET", "/v1/hardware/{name}", RouteKind::kHardware,
         "One machine, as dfsim hardware NAME --json"},
        {"GET", "/v1/models", RouteKind::kModels, "Models that ship with dfsim and uploaded ones"},
        {"POST", "/v1/models", RouteKind::kUpload, "Upload a model for several questions"},
        {"DELETE", "/v1/models/{id}", RouteKind::kRemove, "Remove an uploaded model"},
    };
    for (const QuestionKind& kind : question_kinds()) {
      all.push_back({"POST", fmt::format("/v1/{}", kind.name), RouteKind::kQuestion,
                     fmt::format("{}, as dfsim {} --json", kind.summary, kind.name)});
    }
    return all;
  }();
  return kRoutes;
}

const Route* find_route(std::string_view method, std::string_view path, std::string* parameter,
                        std::string* allowed) {
  allowed->clear();
  for (const Route& route : routes()) {
    const size_t brace = route.path.find('{');
    const std::string_view fixed = std::string_view(route.path).substr(0, brace);
    const bool matches = brace == std::string::npos
                             ? path == fixed
                             : path.starts_with(fixed) && path.size() > fixed.size() &&
                                   path.find('/', fixed.size()) == std::string_view::npos;
    if (matches && (method == route.method || (method == "HEAD" && route.method == "GET"))) {
      *parameter = brace == std::string::npos ? "" : std::string(path.substr(fixed.size()));
      return &route;
    }
    if (matches) {
      *allowed += (allowed->empty() ? "" : ", ") + route.method;
    }
  }
  return nullptr;
}

std::string openapi_json(const std::string& version) {
  JsonTree paths = JsonTree::object();
  for (const Route& route : routes()) {
    JsonTree operation = {{"summary", route.summary}};
    std::string id = route.method == "GET" ? "get" : route.method == "DELETE" ? "remove" : "ask";
    for (const char c : route.path) {
      id += (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c : '_';
    }
    operation["operationId"] = id;
    JsonTree parameters = JsonTree::array();
    const size_t brace = route.path.find('{');
    if (brace != std::string::npos) {
      parameters.push_back(parameter_json(
          std::string_view(route.path).substr(brace + 1, route.path.size() - brace - 2), "path",
          route.kind == RouteKind::kHardware ? "Name or alias" : "Id of an upload", true));
    }
    if (route.kind == RouteKind::kUpload || route.kind == RouteKind::kQuestion) {
      parameters.push_back(parameter_json(
          "name", "query", "The model's file name, for a body of a model's bytes", false));
    }
    if (!parameters.empty()) {
      operation["parameters"] = std::move(parameters);
    }
    if (route.kind == RouteKind::kUpload) {
      operation["requestBody"] = {
          {"required", true}, {"content", json_content("application/octet-stream", model_bytes())}};
    } else if (route.kind == RouteKind::kQuestion) {
      operation["requestBody"] = question_body(route.path.substr(4));
    }
    operation["responses"] = responses_of(route);
    std::string method = route.method;
    for (char& c : method) {
      c = static_cast<char>(c - 'A' + 'a');
    }
    paths[route.path][method] = std::move(operation);
  }
  const JsonTree text = {{"type", "string"}};
  const JsonTree error = {
      {"type", "object"},
      {"properties",
       {{"error",
         {{"type", "object"},
          {"properties", {{"status", {{"type", "integer"}}}, {"message", text}}},
          {"required", JsonTree::array({"status", "message"})}}}}},
      {"required", JsonTree::array({"error"})}};
  JsonTree description = {
      {"openapi", "3.1.0"},
      {"info",
       {{"title", "dfsim serve-api"},
        {"version", version},
        {"description",
         "Predictions of how long a model takes on a machine. Answers to questions "
         "are what the command's --json prints, byte by byte."}}}};
  description["paths"] = std::move(paths);
  description["components"]["schemas"]["Error"] = error;
  return description.text();
}

}  // namespace dfsim::server
