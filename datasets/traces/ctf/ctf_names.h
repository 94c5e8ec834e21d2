// CtfNames: names that a trace gives as pointers. A tracer may write the address of a name, or a
// kernel's handle, and the text that belongs to it once, in an event of its own.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "datasets/traces/ctf/ctf_event.h"
#include "datasets/traces/trace.h"

namespace dfsim::inline datasets {

// The text made printable and interned; most texts are so already, and are not copied.
NameId intern_printable(std::string_view text, size_t most, Trace* trace);

class CtfNames {
 public:
  // An event that may be an entry of a table: an address or handle, and a text.
  void learn(const CtfEvent& event);
  // The name that a field has: a text, or for an address the text that belongs to it, which may
  // come later. None for no field.
  NameId name_of(const CtfField* field, Trace* trace);
  // Replaces addresses whose text came later.
  void finish(Trace* trace) const;

 private:
  NameId of_address(uint64_t address, Trace* trace);

  std::unordered_map<uint64_t, std::string> table_;
  std::unordered_map<NameId, uint64_t> open_;  // names that are addresses still
};

}  // namespace dfsim::inline datasets
