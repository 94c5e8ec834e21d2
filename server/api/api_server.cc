// An exchange is one request: it checks the head, collects a small body or streams a large one into
// the model store, and makes the answer with the use case of its route. All of
// them use one ApiShared.
#include "server/api/api_server.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "base/cancellation.h"
#include "base/io/data_dir.h"
#include "base/json/json_tree.h"
#include "base/json/json_value.h"
#include "base/text.h"
#include "report/html/html_page.h"
#include "report/machines/machine_views.h"
#include "server/api/metrics.h"
#include "server/api/questions.h"
#include "server/api/routes.h"
#include "server/explorer/explorer.h"
#include "study/machines/machines.h"

namespace dfsim::server {
namespace {

constexpr uint64_t kMostQuestionBytes = uint64_t{1} << 20;
constexpr const char* kPolicyOfPages =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
    "connect-src 'self'; frame-src 'self' blob: data:; base-uri 'none'; form-action 'none'";

struct ApiShared {
  ApiOptions options;
  std::unique_ptr<ModelStore> store;
  Metrics metrics;
};

HttpAnswer error_answer(int status, const std::string& message) {
  const JsonTree json = {{"error", {{"status", status}, {"message", printable(message, 2000)}}}};
  return {status, "application/json", json.text()};
}

// The status for an error of a use case.
int http_status_of(const Status& status) {
  switch (status.code()) {
    case StatusCode::kOk:
      return 200;
    case StatusCode::kNotFound:
      return 404;
    case StatusCode::kInvalidInput:
    case StatusCode::kUnsupported:
      return 422;
    case StatusCode::kFailed:
      return 500;
  }
  return 500;
}

bool is_json(std::string_view content_type) {
  return content_type.substr(0, content_type.find(';')) == "application/json";
}

// The file of a model that ships with dfsim.
StatusOr<std::string> zoo_model_path(const std::string& name) {
  const bool is_plain =
      !name.empty() && name.find_first_of("/\\") == std::string::npos && !name.starts_with('.');
  const auto path = is_plain ? find_data_file("graphs/zoo/" + name + ".onnx")
                             : StatusOr<std::string>(not_found(""));
  if (!path.ok()) {
    return not_found(fmt::format(
        "model '{}': found none of that id or name, expected an uploaded model that is still "
        "stored, or one that ships with dfsim; see /v1/models",
        printable(name)));
  }
  return path;
}

std::vector<std::string> zoo_names() {
  std::vector<std::string> names;
  const auto one = find_data_file("graphs/zoo/resnet50.onnx");
  if (one.ok()) {
    std::error_code error;
    const auto folder = std::filesystem::path(*one).parent_path();
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
      if (entry.path().extension() == ".onnx") {
        names.push_back(entry.path().stem().string());
      }
    }
    std::sort(names.begin(), names.end());
  }
  return names;
}

JsonTree stored_model_json(const StoredModel& model) {
  return {{"model", model.id},
          {"name", model.name},
          {"bytes", model.bytes},
          {"kept_bytes", model.kept_bytes}};
}

class ApiExchange final : public HttpExchange {
 public:
  ApiExchange(ApiShared& shared, const HttpHead& head)
      : shared_(shared), head_(head), begin_(std::chrono::steady_clock::now()) {
    shared_.metrics.begin();
    const size_t question_mark = head.target.find('?');
    const std::string path = head.target.substr(0, question_mark);
    query_ = question_mark == std::string::npos ? "" : head.target.substr(question_mark + 1);
    route_ = find_route(head.method, path, &parameter_, &allowed_);
  }

  std::optional<HttpAnswer> refuse() override {
    if (route_ == nullptr && allowed_.empty()) {
      return error_answer(404, "no such route; see /openapi.json");
    }
    if (route_ == nullptr) {
      HttpAnswer answer = error_answer(405, "the route has other methods: " + allowed_);
      answer.headers.emplace_back("Allow", allowed_);
      return answer;
    }
    auto parameters = parse_query(query_);
    if (!parameters.ok()) {
      return error_answer(400, parameters.status().message());
    }
    parameters_ = std::move(*parameters);
    takes_model_ = route_->kind == RouteKind::kUpload ||
                   (route_->kind == RouteKind::kQuestion && !is_json(head_.content_type));
    if (takes_model_ && head_.content_type.starts_with("multipart/")) {
      return error_answer(415,
                          "the body is a form, expected JSON or the bytes of a model "
                          "(Content-Type: application/octet-stream)");
    }
    if (takes_model_ && head_.content_length == uint64_t{0}) {
      return error_answer(400, "the body is empty, expected a model's bytes");
    }
    return takes_model_ ? begin_upload() : std::nullopt;
  }

  uint64_t body_limit() const override {
    return takes_model_                           ? shared_.options.store.upload_bytes
           : route_->kind == RouteKind::kQuestion ? kMostQuestionBytes
                                                  : 0;
  }

  std::optional<HttpAnswer> take(std::string_view piece) override {
    if (upload_ == nullptr) {
      body_ += piece;
      return std::nullopt;
    }
    const Status status = upload_->take(piece);
    if (status.ok()) {
      return std::nullopt;
    }
    upload_.reset();
    return error_answer(status.code() == StatusCode::kUnsupported ? 413 : 503, status.message());
  }

  bool is_quick() const override {
    return route_->kind != RouteKind::kQuestion && route_->kind != RouteKind::kHardwareList &&
           route_->kind != RouteKind::kHardware;
  }

  HttpAnswer answer(const Cancelled& cancelled) override {
    switch (route_->kind) {
      case RouteKind::kPage:
        return {200,
                "text/html; charset=utf-8",
                std::string(explorer_page()),
                {{"Content-Security-Policy", kPolicyOfPages}, {"Referrer-Policy", "no-referrer"}}};
      case RouteKind::kHealth:
        return {200, "application/json",
                JsonTree{{"status", "ok"}, {"version", shared_.options.version}}.text()};
      case RouteKind::kMetrics:
        return {200, "text/plain; version=0.0.4; charset=utf-8", shared_.metrics.text()};
      case RouteKind::kOpenApi:
        return {200, "application/json", openapi_json(shared_.options.version)};
      case RouteKind::kHardwareList:
        return answer_of(machine_list());
      case RouteKind::kHardware:
        return answer_of(one_machine());
      case RouteKind::kModels:
        return {200, "application/json", models().text()};
      case RouteKind::kUpload:
        return answer_upload();
      case RouteKind::kRemove:
        return shared_.store->remove(parameter_)
                   ? HttpAnswer{200, "application/json", JsonTree{{"removed", parameter_}}.text()}
                   : error_answer(404, "no uploaded model has the id " + parameter_);
      case RouteKind::kQuestion:
        return answer_question(cancelled);
    }
    return error_answer(500, "a route without an answer");
  }

  void finished(int status) override {
    shared_.metrics.end(route_ == nullptr ? "other" : std::string_view(route_->path), status,
                        std::chrono::steady_clock::now() - begin_);
  }

 private:
  std::optional<HttpAnswer> begin_upload() {
    std::string name = "model.onnx";
    const auto named =
        std::find_if(parameters_.begin(), parameters_.end(),
                     [](const auto& parameter) { return parameter.first == "name"; });
    if (named != parameters_.end()) {
      name = named->second;
      parameters_.erase(named);
    }
    auto upload = shared_.store->begin(name);
    if (!upload.ok()) {
      return error_answer(503, upload.status().message());
    }
    upload_ = std::move(*upload);
    return std::nullopt;
  }

  static StatusOr<std::string> machine_list() {
    DFSIM_ASSIGN_OR_RETURN(const MachineList list, list_machines());
    return machine_list_json(list).text();
  }
  StatusOr<std::string> one_machine() const {
    std::string name;
    const Status named =
        read_fields(QueryParameters{{"name", parameter_}},
                    {{"name", &name, "The name of a machine", 0, 0, FieldKind::kName}});
    if (!named.ok()) {
      return not_found(named.message());
    }
    DFSIM_ASSIGN_OR_RETURN(const Machine machine, find_machine(name));
    return machine_json(machine).text();
  }

  JsonTree models() const {
    JsonTree uploads = JsonTree::array();
    for (const auto& model : shared_.store->list()) {
      uploads.push_back(stored_model_json(*model));
    }
    JsonTree json = {{"schema", "dfsim.models/1"}, {"shipped", zoo_names()}};
    json["uploaded"] = std::move(uploads);
    return json;
  }

  HttpAnswer answer_upload() {
    auto model = upload_->finish();
    if (!model.ok()) {
      return error_answer(model.status().code() == StatusCode::kFailed ? 503 : 400,
                          model.status().message());
    }
    shared_.metrics.add_upload((*model)->bytes, (*model)->kept_bytes);
    HttpAnswer answer = {201, "application/json", stored_model_json(**model).text()};
    answer.headers.emplace_back("Location", "/v1/models/" + (*model)->id);
    shared_.store->add(std::move(*model));
    return answer;
  }

  HttpAnswer answer_question(const Cancelled& cancelled) {
    const auto kind =
        std::find_if(question_kinds().begin(), question_kinds().end(),
                     [&](const QuestionKind& each) { return route_->path.substr(4) == each.name; });
    const std::unique_ptr<Question> question = kind->make();
    std::string model;
    const Status read = read_question(*question, &model);
    if (!read.ok()) {
      return error_answer(400, read.message());
    }
    std::shared_ptr<const StoredModel> stored;
    auto path = model_path(model, &stored);
    if (!path.ok()) {
      return error_answer(http_status_of(path.status()), path.status().message());
    }
    Progress progress;
    progress.on_stage = [&](const std::string&) {
      return cancelled.load() ? failed("cancelled") : ok_status();
    };
    // Long work ends in the middle of its loops; some steps end before they begin.
    auto json = run_cancellable([&] { return cancelled.load(); },
                                [&] { return question->answer(*path, progress); });
    if (json.ok() && kind->has_html && head_.accept.starts_with("text/html")) {
      auto page = html_page(kind->name, *json);
      return page.ok() ? HttpAnswer{200, "text/html; charset=utf-8", std::move(*page)}
                       : error_answer(500, page.status().message());
    }
    return answer_of(std::move(json));
  }

  Status read_question(Question& question, std::string* model) {
    QuestionFields fields = question.fields();
    if (takes_model_) {
      return read_fields(parameters_, fields);
    }
    if (!parameters_.empty()) {
      return invalid_input(
          "query: found fields next to a body of JSON, expected them in the body; move them");
    }
    fields.push_back({"model", model, "the id or name of a model", 0, 0, FieldKind::kName});
    fields.back().required = true;
    const PaddedJson padded(body_);
    JsonParser parser;
    JsonValue value;
    if (!parser.parse(padded.view(), &value)) {
      return invalid_input("body: is not JSON: " + parser.error());
    }
    return read_fields(value, fields);
  }

  StatusOr<std::string> model_path(const std::string& name,
                                   std::shared_ptr<const StoredModel>* stored) {
    if (takes_model_) {
      DFSIM_ASSIGN_OR_RETURN(std::shared_ptr<StoredModel> model, upload_->finish());
      shared_.metrics.add_upload(model->bytes, model->kept_bytes);
      *stored = std::move(model);
    } else {
      *stored = shared_.store->find(name);
    }
    return *stored != nullptr ? StatusOr<std::string>((*stored)->path) : zoo_model_path(name);
  }

  HttpAnswer answer_of(StatusOr<std::string> json) const {
    if (json.ok()) {
      return {200, "application/json", std::move(*json)};
    }
    return error_answer(http_status_of(json.status()),
                        shared_.store->without_directory(json.status().message()));
  }

  ApiShared& shared_;
  const HttpHead head_;
  const std::chrono::steady_clock::time_point begin_;
  std::string query_;
  std::string parameter_;
  std::string allowed_;
  QueryParameters parameters_;
  const Route* route_ = nullptr;
  bool takes_model_ = false;
  std::string body_;
  std::unique_ptr<Upload> upload_;
};

class ApiHandler final : public ApiService {
 public:
  Status open(const ApiOptions& options) {
    shared_.options = options;
    DFSIM_ASSIGN_OR_RETURN(shared_.store, ModelStore::create(options.store));
    return ok_status();
  }
  std::unique_ptr<HttpExchange> begin(const HttpHead& head) override {
    return std::make_unique<ApiExchange>(shared_, head);
  }
  HttpAnswer error(int status, const std::string& message) const override {
    return error_answer(status, message);
  }

 private:
  ApiShared shared_;
};

}  // namespace

StatusOr<std::unique_ptr<ApiService>> ApiService::create(const ApiOptions& options) {
  auto service = std::make_unique<ApiHandler>();
  DFSIM_RETURN_IF_ERROR(service->open(options));
  return std::unique_ptr<ApiService>(std::move(service));
}

Status serve_api(const ApiOptions& options, const std::function<void(const std::string&)>& ready) {
  DFSIM_ASSIGN_OR_RETURN(const std::unique_ptr<ApiService> service, ApiService::create(options));
  DFSIM_ASSIGN_OR_RETURN(const std::unique_ptr<HttpServer> server,
                         HttpServer::listen(options.address, options.port, options.http, *service));
  if (options.max_memory_gb > 0) {
    // A request that needs more fails by std::bad_alloc, which the server answers.
    const auto bytes = static_cast<rlim_t>(options.max_memory_gb * 1e9);
    const rlimit limit = {bytes, bytes};
    ::setrlimit(RLIMIT_DATA, &limit);
  }
  std::signal(SIGPIPE, SIG_IGN);
  const bool is_v6 = options.address.find(':') != std::string::npos;
  const std::string address = fmt::format("http://{}{}{}:{}/", is_v6 ? "[" : "", options.address,
                                          is_v6 ? "]" : "", server->port());
  server->run({SIGINT, SIGTERM}, [&] { ready(address); });
  return ok_status();
}

}  // namespace dfsim::server
