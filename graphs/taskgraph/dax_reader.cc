// Reads Pegasus' DAX with expat. Jobs refer to files by name, so edges between jobs are made at
// the end from producers and readers of each file, plus the explicit child and parent elements.
// Document type declarations are refused, since nothing in a DAX needs entities.
#include <expat.h>
#include <fmt/format.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/text.h"
#include "graphs/taskgraph/assembler.h"
#include "graphs/taskgraph/file_edges.h"
#include "graphs/taskgraph/readers.h"

namespace dfsim::inline graphs::taskgraph {
namespace {

constexpr int kMaxDaxDepth = 64;
constexpr size_t kDaxPieceBytes = size_t{1} << 16;

struct ParserDeleter {
  void operator()(XML_Parser parser) const { XML_ParserFree(parser); }
};
using Parser = std::unique_ptr<std::remove_pointer_t<XML_Parser>, ParserDeleter>;

// Listens to expat. Document type declarations are refused: nothing in a DAX needs entities, and
// they are the usual way to make a parser explode.
class DaxReader {
 public:
  explicit DaxReader(CharSource source) : source_(std::move(source)) {}

  StatusOr<TaskGraph> read();

 private:
  static void XMLCALL on_begin(void* self, const XML_Char* name, const XML_Char** attributes) {
    static_cast<DaxReader*>(self)->begin(name, attributes);
  }
  static void XMLCALL on_end(void* self, const XML_Char*) {
    --static_cast<DaxReader*>(self)->depth_;
  }
  static void XMLCALL on_doctype(void* self, const XML_Char*, const XML_Char*, const XML_Char*,
                                 int) {
    static_cast<DaxReader*>(self)->stop("a document type declaration; DAX files have none");
  }

  void begin(std::string_view element, const XML_Char** attributes);
  void begin_job(const XML_Char** attributes);
  void begin_uses(const XML_Char** attributes);
  void stop(std::string_view message);
  size_t line() const { return XML_GetCurrentLineNumber(parser_.get()); }
  static const char* attribute(const XML_Char** attributes, std::string_view name);
  // The job of attribute `ref`, or stops.
  bool job_of(const XML_Char** attributes, uint32_t& job);
  StatusOr<TaskGraph> assemble();

  CharSource source_;
  Parser parser_;
  Status status_;
  int depth_ = 0;
  std::string name_;
  std::vector<std::string> names_;
  std::vector<TimeNs> times_;
  std::unordered_map<std::string, uint32_t> ids_;
  FileEdges files_;
  uint32_t child_ = 0;
};

void DaxReader::stop(std::string_view message) {
  if (status_.ok()) {
    status_ = source_.error_at(line(), message);
    XML_StopParser(parser_.get(), XML_FALSE);
  }
}

const char* DaxReader::attribute(const XML_Char** attributes, std::string_view name) {
  for (size_t i = 0; attributes[i] != nullptr; i += 2) {
    if (name == attributes[i]) {
      return attributes[i + 1];
    }
  }
  return nullptr;
}

void DaxReader::begin_job(const XML_Char** attributes) {
  const char* id = attribute(attributes, "id");
  const char* runtime = attribute(attributes, "runtime");
  if (id == nullptr || runtime == nullptr) {
    stop(fmt::format("a <job> has no '{}'", id == nullptr ? "id" : "runtime"));
    return;
  }
  if (!ids_.try_emplace(id, static_cast<uint32_t>(times_.size())).second) {
    stop(fmt::format("job '{}' is defined twice", printable(id)));
    return;
  }
  const auto seconds = parse_number(runtime);
  if (!seconds.has_value()) {
    stop(fmt::format("the runtime of job '{}' is '{}', expected seconds", printable(id),
                     printable(runtime, 24)));
    return;
  }
  const auto ns = checked_ns(*seconds, static_cast<double>(kNsPerSecond),
                             fmt::format("the runtime of job '{}'", printable(id)));
  if (!ns.ok()) {
    stop(ns.status().message());
    return;
  }
  times_.push_back(*ns);
  names_.emplace_back(id);
}

void DaxReader::begin_uses(const XML_Char** attributes) {
  const char* file = attribute(attributes, "file");
  file = file != nullptr ? file : attribute(attributes, "name");
  const char* link = attribute(attributes, "link");
  if (times_.empty() || file == nullptr || link == nullptr) {
    stop(times_.empty() ? "<uses> stands outside a <job>"
                        : fmt::format("<uses> has no '{}'", file == nullptr ? "file" : "link"));
    return;
  }
  const uint32_t id = files_.file(file);
  if (const char* size = attribute(attributes, "size"); size != nullptr) {
    const auto bytes = parse_number(size);
    if (!bytes.has_value()) {
      stop(fmt::format("the size of file '{}' is '{}', expected bytes", printable(file),
                       printable(size, 24)));
      return;
    }
    const auto checked =
        checked_bytes(*bytes, fmt::format("the size of file '{}'", printable(file)));
    if (!checked.ok()) {
      stop(checked.status().message());
      return;
    }
    files_.set_size(id, *checked);
  }
  const std::string kind = to_lower(link);
  const auto job = static_cast<uint32_t>(times_.size() - 1);
  if (kind == "input" || kind == "inout") {
    files_.add_input(job, id);
  }
  if (kind == "output" || kind == "inout") {
    files_.add_output(job, id);
  }
  if (kind != "input" && kind != "output" && kind != "inout" && kind != "none") {
    stop(fmt::format("link is '{}', expected input, output or inout", printable(link, 24)));
  }
}

bool DaxReader::job_of(const XML_Char** attributes, uint32_t& job) {
  const char* ref = attribute(attributes, "ref");
  const auto found = ref == nullptr ? ids_.end() : ids_.find(ref);
  if (found == ids_.end()) {
    stop(ref == nullptr ? std::string("a dependency has no 'ref'")
                        : fmt::format("there is no job '{}' before this line", printable(ref)));
    return false;
  }
  job = found->second;
  return true;
}

void DaxReader::begin(std::string_view element, const XML_Char** attributes) {
  if (++depth_ > kMaxDaxDepth) {
    stop(fmt::format("nested over {} levels deep", kMaxDaxDepth));
  } else if (depth_ == 1) {
    if (element != "adag") {
      stop(fmt::format("the root is <{}>, expected <adag>", printable(element, 24)));
    } else if (const char* name = attribute(attributes, "name"); name != nullptr) {
      name_ = name;
    }
  } else if (element == "job") {
    begin_job(attributes);
  } else if (element == "uses") {
    begin_uses(attributes);
  } else if (element == "child") {
    job_of(attributes, child_);
  } else if (element == "parent") {
    uint32_t parent = 0;
    if (job_of(attributes, parent)) {
      files_.add_dependency(parent, child_);
    }
  }
}

StatusOr<TaskGraph> DaxReader::assemble() {
  Assembler assembler;
  for (size_t i = 0; i < times_.size(); ++i) {
    assembler.add_task(std::move(names_[i]), std::span(&times_[i], 1));
  }
  files_.assemble(assembler);
  TaskGraph out;
  out.name = name_;
  out.format = "dax";
  out.comm = CommKind::kBytes;
  out.has_unit = true;
  DFSIM_RETURN_IF_ERROR(assembler.check_tasks(source_.path()));
  DFSIM_RETURN_IF_ERROR(assembler.finish(source_.path(), out));
  return out;
}

StatusOr<TaskGraph> DaxReader::read() {
  parser_.reset(XML_ParserCreate(nullptr));
  if (parser_ == nullptr) {
    return failed("no memory for the XML parser");
  }
  XML_SetUserData(parser_.get(), this);
  XML_SetElementHandler(parser_.get(), on_begin, on_end);
  XML_SetStartDoctypeDeclHandler(parser_.get(), on_doctype);
  std::array<char, kDaxPieceBytes> piece;
  size_t size = 0;
  do {
    size = source_.read(piece.data(), piece.size());
    const XML_Status parsed =
        XML_Parse(parser_.get(), piece.data(), static_cast<int>(size), size == 0 ? 1 : 0);
    if (parsed == XML_STATUS_ERROR && status_.ok()) {
      status_ = source_.error_at(
          line(),
          fmt::format("malformed XML: {}", XML_ErrorString(XML_GetErrorCode(parser_.get()))));
    }
    if (!status_.ok()) {
      return status_;
    }
  } while (size > 0);
  return assemble();
}

bool starts_like_dax(std::string_view start) {
  return start.front() == '<' && start.find("<adag") != std::string_view::npos;
}

// Pegasus DAX (XML): seconds and bytes.
StatusOr<TaskGraph> read_dax_graph(CharSource source) {
  return DaxReader(std::move(source)).read();
}

}  // namespace

TaskGraphFormat dax_format() {
  return {.name = "dax",
          .looks_like = "DAX (XML with <adag>)",
          .sniff = starts_like_dax,
          .read = read_dax_graph};
}

}  // namespace dfsim::inline graphs::taskgraph
