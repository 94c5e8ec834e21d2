// Addresses stand for themselves ("0x7f00") until their text is known.
#include "datasets/traces/ctf/ctf_names.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "datasets/traces/ctf/ctf_points.h"

namespace dfsim::inline datasets {
namespace {

constexpr size_t kMostName = 1000;
constexpr size_t kMostEntries = size_t{1} << 20;

bool is_written_address(std::string_view text) {
  return text.size() > 2 && (text.starts_with("0x") || text.starts_with("0X"));
}

}  // namespace

NameId intern_printable(std::string_view text, size_t most, Trace* trace) {
  const bool plain =
      text.size() <= most && std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
  return trace->intern(plain ? text : std::string_view(printable(text, most)));
}

void CtfNames::learn(const CtfEvent& event) {
  const CtfField* address = nullptr;
  const CtfField* text = nullptr;
  for (size_t i = 0; i < event.shape->payload && i < event.fields.size(); ++i) {
    const CtfField& field = event.fields[i];
    if (field.kind == CtfField::Kind::kText && !is_written_address(field.text)) {
      // A category ("kernel") comes before the name, and is not it.
      text = field.name == "cat" ? text : &field;
    } else if (field.kind != CtfField::Kind::kReal && field.name != "timestamp") {
      // A kernel's handle is among several numbers; elsewhere the first one counts.
      address = address == nullptr || field.name == "kernel_object" ? &field : address;
    }
  }
  if (address == nullptr || text == nullptr || text->text.empty() || table_.size() > kMostEntries) {
    return;
  }
  const uint64_t value = address->kind == CtfField::Kind::kInteger
                             ? static_cast<uint64_t>(address->integer)
                             : whole_number(address->text).value_or(0);
  if (value != 0) {
    table_[value] = printable(text->text, kMostName);
  }
}

NameId CtfNames::name_of(const CtfField* field, Trace* trace) {
  if (field == nullptr || field->kind == CtfField::Kind::kReal) {
    return NameId();
  }
  if (field->kind == CtfField::Kind::kInteger) {
    return of_address(static_cast<uint64_t>(field->integer), trace);
  }
  if (is_written_address(field->text)) {
    if (const auto address = whole_number(field->text)) {
      return of_address(*address, trace);
    }
  }
  return field->text.empty() ? NameId() : intern_printable(field->text, kMostName, trace);
}

NameId CtfNames::of_address(uint64_t address, Trace* trace) {
  const auto known = table_.find(address);
  if (known != table_.end()) {
    return trace->intern(known->second);
  }
  const NameId name = trace->intern(fmt::format("{:#x}", address));
  open_[name] = address;
  return name;
}

void CtfNames::finish(Trace* trace) const {
  if (open_.empty() || table_.empty()) {
    return;
  }
  std::unordered_map<NameId, NameId> known;
  for (const auto& [name, address] : open_) {
    const auto text = table_.find(address);
    if (text != table_.end()) {
      known[name] = trace->intern(text->second);
    }
  }
  for (Span& span : trace->spans) {
    for (NameId* name : {&span.name, &span.detail}) {
      const auto found = name->valid() ? known.find(*name) : known.end();
      *name = found == known.end() ? *name : found->second;
    }
  }
}

}  // namespace dfsim::inline datasets
