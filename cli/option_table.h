// Commands and their options as data.
//
// Purpose: each command of the program is one CommandSpec with a table of its options. Everything
//   that depends on options is made from these tables: the parser and --help (option_parser.h), man
//   pages, shell completions and the reference page (command_docs.h). No command includes a
//   command-line library.
// Invariants: the targets of a table outlive its command; a command's `run` keeps them alive. Text
//   fields of type const char* are literals. Lists in one field are separated by commas.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <variant>
#include <vector>

#include "base/status.h"

namespace dfsim::cli {

// Options that may precede or follow any command.
struct GlobalOptions {
  bool quiet = false;
  bool version = false;  // print the version instead of running a command
  std::string log_level = "warning";
  std::string color = "auto";
  std::string progress = "auto";
};

// A value that none of the usual types can hold, and the function that reads it. The function's
// error is what the user sees, behind the option's name.
struct ParsedTarget {
  void* into = nullptr;
  Status (*read)(void* into, const std::string& value) = nullptr;
};

// parsed<read_size>(&options.size): `read_size` takes a string and returns a StatusOr<T>.
template <auto kRead, typename T>
ParsedTarget parsed(T* into) {
  return {into, [](void* place, const std::string& value) -> Status {
            DFSIM_ASSIGN_OR_RETURN(*static_cast<T*>(place), kRead(value));
            return ok_status();
          }};
}

// Where an option's value goes, which also says its kind: a bool is a flag without a value, a
// vector takes several values.
using OptionTarget = std::variant<bool*, std::string*, int32_t*, uint32_t*, int64_t*, uint64_t*,
                                  double*, std::vector<std::string>*, std::vector<int64_t>*,
                                  std::vector<uint64_t>*, std::vector<double>*, ParsedTarget>;

// The least and the greatest number that an option takes. Numbers are decimal and
// finite: neither 010 nor 0x10 is one. A target without a sign takes no negative number.
struct NumberRange {
  double least = 0;
  double greatest = 0;  // below `least`: no limits

  bool limited() const { return greatest >= least; }
};
inline constexpr NumberRange kAnyNumber{0, -1};

struct OptionSpec {
  const char* names = "";  // "-o,--output"; without dashes it is an argument: "MODEL"
  OptionTarget target = {};
  std::string help = {};
  // The name of the value in --help: "FILE", "NAME=N". One that contains FILE, OUT, DIR or FOLDER
  // is completed with names of files; one that begins with OUT names a file that the command
  // writes. nullptr: the parser's word for the type.
  const char* value = nullptr;
  const char* group = nullptr;  // its heading in --help; nullptr: "Options"
  bool required = false;
  const char* hint = nullptr;  // where to find a value, when a required option is missing
  bool show_default = false;   // --help shows what the target holds
  bool sets = true;            // what a flag sets its target to
  bool one_at_a_time = false;  // a vector's option takes one value each time it is given
  bool positive = false;       // a number above 0
  NumberRange range = kAnyNumber;
  const char* choices = nullptr;   // "then,else"
  const char* needs = nullptr;     // options that must be given too: "--requests"
  const char* excludes = nullptr;  // options that must not be given too: "--json,--csv"
  // Names that the value may have, for completions; asked for only when those are written.
  std::vector<std::string> (*suggest)() = nullptr;
};

using OptionTable = std::vector<OptionSpec>;

// Whether `text` is a decimal number without needless zeros that 64 bits hold.
bool is_plain_whole_number(const std::string& text, bool negative_too);

// One table after the other.
OptionTable joined(std::initializer_list<OptionTable> tables);

// One way to call a command, for its man page and the reference.
struct CommandExample {
  const char* line = "";   // "dfsim predict model.onnx --hw a100"
  const char* shows = "";  // what it does, without a full stop
};

using Run = std::function<Status(const GlobalOptions& global)>;

struct CommandSpec {
  const char* name = "";
  const char* summary = "";  // one line
  OptionTable options = {};
  std::string footer = {};  // below the options of --help
  std::vector<CommandExample> examples = {};
  std::vector<CommandSpec> commands = {};  // one of them must be given
  // Takes the words behind a "--", which then are not arguments of dfsim, and makes the arguments
  // in front of it optional. nullptr: "--" only says that options end there.
  std::vector<std::string>* behind_dashes = nullptr;
  Run run = {};         // a command without commands of its own
  bool hidden = false;  // left out of lists
};

// "a,b" -> {"a", "b"}; nothing for nullptr.
std::vector<std::string> listed(const char* text);

// True for an argument, which has no dashes.
bool is_argument(const OptionSpec& option);
bool is_flag(const OptionSpec& option);
// True for -o and for options whose value begins with OUT.
bool writes_file(const OptionSpec& option);
// True when the target holds any number of values.
bool takes_many(const OptionSpec& option);

// The text below the options of --help: the own words of the command, its examples, and `common`,
// the words that every command says.
std::string footer_of(const CommandSpec& spec, const std::string& common);

}  // namespace dfsim::cli
