// Fields of questions: one table says how JSON and query parameters become options, and what the
// OpenAPI description says of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/json/json_tree.h"
#include "base/json/json_value.h"
#include "base/status.h"

namespace dfsim::server {

// Names of what ships with dfsim: never a path, so that a request cannot read the server's files.
enum class FieldKind : uint8_t { kText, kName };

using FieldTarget = std::variant<bool*, std::string*, int32_t*, uint32_t*, int64_t*, uint64_t*,
                                 double*, std::vector<std::string>*, std::vector<uint64_t>*>;

struct QuestionField {
  std::string name;  // as the option of the command line, with '_' for '-'
  FieldTarget target;
  std::string help;
  double least = 0;  // of numbers
  double greatest = 1e15;
  FieldKind kind = FieldKind::kText;
  std::vector<std::string> choices = {};
  bool required = false;
  bool sets = true;  // what true sets a bool to
};

using QuestionFields = std::vector<QuestionField>;

// Parameters of a URL's query in their order, with %XX and '+' resolved. Error: kInvalidInput.
using QueryParameters = std::vector<std::pair<std::string, std::string>>;
StatusOr<QueryParameters> parse_query(std::string_view query);

// Sets what the object has. Errors: kInvalidInput: an unknown field, with the nearest valid name; a
// value of another kind, out of range, or none of the choices; a path where a name is expected; a
// required field is missing.
Status read_fields(const JsonValue& object, const QuestionFields& fields);
Status read_fields(const QueryParameters& parameters, const QuestionFields& fields);

// The schema of the object, as OpenAPI has it.
JsonTree fields_schema(const QuestionFields& fields);

}  // namespace dfsim::server
