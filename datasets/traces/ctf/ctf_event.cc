#include "datasets/traces/ctf/ctf_event.h"

namespace dfsim::inline datasets {

const CtfField* CtfEvent::find(std::initializer_list<std::string_view> names) const {
  for (const std::string_view wanted : names) {
    for (const CtfField& field : fields) {
      if (field.name == wanted) {
        return &field;
      }
    }
  }
  return nullptr;
}

int64_t CtfEvent::integer(std::initializer_list<std::string_view> names, int64_t otherwise) const {
  const CtfField* const field = find(names);
  return field == nullptr || field->kind != CtfField::Kind::kInteger ? otherwise : field->integer;
}

std::string_view CtfEvent::text(std::initializer_list<std::string_view> names) const {
  const CtfField* const field = find(names);
  return field == nullptr || field->kind != CtfField::Kind::kText ? "" : field->text;
}

}  // namespace dfsim::inline datasets
