// dfsim profiles: converts other tools' measurements, checks profiles, summarises their rows.
#include <fmt/format.h>

#include <memory>

#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/terminal_text.h"
#include "datasets/profiles/profile_io.h"
#include "report/measurements/profile_views.h"
#include "study/profiles/profiles.h"

namespace dfsim::cli {
namespace {

struct ProfilesOptions {
  ProfileSource source;
  std::string output = "-";
  std::string device;  // check: the only one that may be there
  bool json = false;
};

Status run_import(const ProfilesOptions& options, const GlobalOptions& global) {
  DFSIM_ASSIGN_OR_RETURN(const ProfileImport imported, import_measurements(options.source));
  DFSIM_RETURN_IF_ERROR(write_profile(imported.profile, options.output));
  const std::string text =
      options.json ? profile_import_json(imported, options.output).text()
                   : profile_import_text(imported, options.output, options.source.optimized_model);
  // With the profile itself on stdout, the summary goes to stderr.
  if (options.output == "-") {
    fmt::print(stderr, "{}", global.quiet ? "" : text);
    return ok_status();
  }
  return options.json || !global.quiet ? write_result("-", text) : ok_status();
}

Status run_check(const ProfilesOptions& options, const GlobalOptions& global) {
  std::vector<ProfileCheck> checks;
  std::vector<std::string> problems;
  for (const std::string& path : options.source.files) {
    checks.push_back(check_profile(path, options.device));
    if (!checks.back().problem.empty()) {
      problems.push_back(checks.back().problem);
    }
  }
  if (options.json || !global.quiet) {
    DFSIM_RETURN_IF_ERROR(write_result(
        "-", options.json ? profile_checks_json(checks).text() : profile_checks_text(checks)));
  }
  return problems.empty() ? ok_status() : invalid_input(join(problems, "; "));
}

Status run_stats(const ProfilesOptions& options) {
  DFSIM_ASSIGN_OR_RETURN(const ProfileSummary summary, summarize_profiles(options.source));
  return write_result(options.output, options.json ? profile_summary_json(summary).text()
                                                   : profile_summary_text(summary));
}

std::string formats_help() {
  std::string text = "Formats:";
  for (const auto& importer : importers()) {
    text += fmt::format("\n  {:15}{}", importer->name(), importer->description());
  }
  return text;
}

OptionTable profile_files(ProfilesOptions& o) {
  return {{.names = "FILE",
           .target = &o.source.files,
           .help = "Files (or folders, where the format is one)",
           .required = true},
          {.names = "--json", .target = &o.json, .help = "Print JSON"}};
}

OptionSpec profile_format(ProfilesOptions& o) {
  return {.names = "--format",
          .target = &o.source.format,
          .help = "Format of the files, see below",
          .show_default = true};
}

OptionTable profile_origin(ProfilesOptions& o) {
  return {{.names = "--device",
           .target = &o.source.origin.device,
           .help = "Device, where the file does not say it"},
          {.names = "--runtime",
           .target = &o.source.origin.runtime,
           .help = "Runtime that was measured"},
          {.names = "--runtime-version",
           .target = &o.source.origin.runtime_version,
           .help = "Version of the runtime"},
          {.names = "--network",
           .target = &o.source.origin.network,
           .help = "Network that was measured"},
          {.names = "--batch",
           .target = &o.source.origin.batch,
           .help = "Batch size of the network",
           .positive = true}};
}

CommandSpec import_command() {
  const auto options = std::make_shared<ProfilesOptions>();
  ProfilesOptions& o = *options;
  OptionSpec format = profile_format(o);
  format.required = true;
  format.show_default = false;
  return {
      .name = "import",
      .summary = "Convert other tools' measurements into a profile",
      .options = joined(
          {profile_files(o),
           {format},
           profile_origin(o),
           {{.names = "--optimized-model",
             .target = &o.source.optimized_model,
             .help = "Model as the runtime ran it, ONNX or TensorFlow: gives attributes, left-out "
                     "operands and "
                     "missing shapes to the ops it names",
             .value = "FILE"},
            {.names = "-o,--output",
             .target = &o.output,
             .help = "Profile to write: .csv, .jsonl, each also with .gz or .xz; - is stdout",
             .show_default = true}}}),
      .footer = formats_help(),
      .examples = {{"dfsim profiles import --format kineto trace.json.gz -o ops.csv.gz",
                    "a profile of the operators in a PyTorch trace"}},
      .run = [options](const GlobalOptions& global) { return run_import(*options, global); }};
}

CommandSpec check_command() {
  const auto options = std::make_shared<ProfilesOptions>();
  return {.name = "check",
          .summary = "Validate profiles; rows that cannot be used are an error",
          .options = joined({profile_files(*options),
                             {{.names = "--device",
                               .target = &options->device,
                               .help = "The only device that may be there"}}}),
          .examples = {{"dfsim profiles check ops.csv.gz",
                        "whether every row of a profile can be used"}},
          .run = [options](const GlobalOptions& global) { return run_check(*options, global); }};
}

CommandSpec stats_command() {
  const auto options = std::make_shared<ProfilesOptions>();
  ProfilesOptions& o = *options;
  return {.name = "stats",
          .summary = "Rows by device, op, dtype and timing; ranges; duplicates",
          .options = joined({profile_files(o),
                             {profile_format(o)},
                             profile_origin(o),
                             {{.names = "-o,--output",
                               .target = &o.output,
                               .help = "File to write, - is stdout",
                               .show_default = true}}}),
          .footer = formats_help(),
          .examples = {{"dfsim profiles stats ops.csv.gz",
                        "rows by device and operator, and the ranges of their shapes"}},
          .run = [options](const GlobalOptions&) { return run_stats(*options); }};
}

}  // namespace

CommandSpec profiles_command() {
  return {.name = "profiles",
          .summary = "Import, check and describe measured operator times",
          .examples = {{"dfsim profiles check ops.csv.gz",
                        "whether every row of a profile can be used"}},
          .commands = {import_command(), check_command(), stats_command()}};
}

}  // namespace dfsim::cli
