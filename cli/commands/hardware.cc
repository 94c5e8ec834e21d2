// dfsim hardware: lists the known hardware files, or shows one.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>

#include "base/json/json_tree.h"
#include "base/text.h"
#include "base/text_table.h"
#include "base/units.h"
#include "cli/collectives_text.h"
#include "cli/commands/commands.h"
#include "cli/terminal_text.h"
#include "graphs/passes/pipeline.h"
#include "hardware/collective_timing.h"
#include "hardware/platform_loader.h"
#include "hardware/sustained_rates.h"

namespace dfsim::cli {
namespace {

using Json = JsonTree;

constexpr double kTera = 1e12;
constexpr double kGiga = 1e9;
constexpr double kMebi = 1024.0 * 1024.0;
constexpr double kGibi = 1024.0 * kMebi;

struct HardwareOptions {
  std::string name;
  std::string output = "-";
  bool json = false;
};

std::string number(double value) { return value == 0 ? "-" : fmt::format("{:.4g}", value); }

std::string bandwidth(double bytes_per_s) {
  return fmt::format("{:.4g} GB/s", bytes_per_s / kGiga);
}

// FLOP per byte at which compute and memory take equally long.
double ridge(const DeviceSpec& device, double flops_per_s) {
  return flops_per_s / device.memory_bytes_per_s;
}

// "8 gpu, 2 cpu": how many devices of each type, in order.
std::string devices_of(const Platform& platform) {
  std::vector<std::pair<std::string_view, int>> counts;
  for (const DeviceSpec& device : platform.devices) {
    const std::string_view type = device_type_name(device.type);
    const auto it = std::find_if(counts.begin(), counts.end(),
                                 [type](const auto& entry) { return entry.first == type; });
    if (it == counts.end()) {
      counts.emplace_back(type, 1);
    } else {
      ++it->second;
    }
  }
  std::vector<std::string> parts;
  for (const auto& [type, count] : counts) {
    parts.push_back(fmt::format("{} {}", count, type));
  }
  return join(parts, ", ");
}

// Devices that differ in their name only are shown once.
struct DeviceGroup {
  const DeviceSpec* device;
  std::string names;
};

bool same_but_name(const DeviceSpec& a, const DeviceSpec& b) {
  return a.model == b.model && a.type == b.type && a.memory_bytes == b.memory_bytes &&
         a.memory_bytes_per_s == b.memory_bytes_per_s && a.l2_bytes == b.l2_bytes &&
         a.compute_units == b.compute_units && a.launch_overhead_ns == b.launch_overhead_ns &&
         a.queues == b.queues && a.copy_engines == b.copy_engines && a.cost_model == b.cost_model &&
         a.allow_tf32 == b.allow_tf32 && a.tf32_flops_per_s == b.tf32_flops_per_s &&
         a.overlap_slowdown == b.overlap_slowdown && a.board_power_w == b.board_power_w &&
         a.sustained_memory_bytes_per_s == b.sustained_memory_bytes_per_s &&
         std::equal(a.peaks.begin(), a.peaks.end(), b.peaks.begin(), b.peaks.end(),
                    [](const PeakRate& x, const PeakRate& y) {
                      return x.dtype == y.dtype && x.flops_per_s == y.flops_per_s &&
                             x.matrix_flops_per_s == y.matrix_flops_per_s;
                    });
}

std::vector<DeviceGroup> groups_of(const Platform& platform) {
  std::vector<DeviceGroup> groups;
  for (const DeviceSpec& device : platform.devices) {
    if (!groups.empty() && same_but_name(*groups.back().device, device)) {
      groups.back().names = groups.back().device->name + " .. " + device.name;
    } else {
      groups.push_back({&device, device.name});
    }
  }
  return groups;
}

// The sustained rates of a kind of units, "*" where they are estimates.
std::string sustained_number(const DeviceSpec& device, size_t peak, bool matrix) {
  const DeviceSpec sustained = with_sustained_rates(device);
  const PeakRate& rate = sustained.peaks[peak];
  const double value = matrix ? rate.matrix_flops_per_s : rate.flops_per_s;
  const bool measured =
      std::any_of(device.sustained.begin(), device.sustained.end(), [&](const PeakRate& known) {
        return known.dtype == rate.dtype &&
               (matrix ? known.matrix_flops_per_s : known.flops_per_s) > 0;
      });
  return value == 0 ? "-" : fmt::format("{:.3g}{}", value / kTera, measured ? " " : "*");
}

std::string peaks_table(const DeviceSpec& device) {
  TextTable table({{"dtype"},
                   {"vector TFLOP/s", Align::kRight},
                   {"sustained", Align::kRight},
                   {"matrix TFLOP/s", Align::kRight},
                   {"sustained", Align::kRight},
                   {"ridge", Align::kRight},
                   {"matrix", Align::kRight}});
  for (size_t i = 0; i < device.peaks.size(); ++i) {
    const PeakRate& peak = device.peaks[i];
    table.add_row({std::string(dtype_name(peak.dtype)), number(peak.flops_per_s / kTera),
                   sustained_number(device, i, false), number(peak.matrix_flops_per_s / kTera),
                   sustained_number(device, i, true), number(ridge(device, peak.flops_per_s)),
                   number(ridge(device, peak.matrix_flops_per_s))});
  }
  if (device.tf32_flops_per_s > 0) {
    const double sustained = with_sustained_rates(device).tf32_flops_per_s;
    table.add_row({"tf32", "-", "-", number(device.tf32_flops_per_s / kTera),
                   fmt::format("{:.3g}*", sustained / kTera), "-",
                   number(ridge(device, device.tf32_flops_per_s))});
  }
  return table.render(100, 4) +
         "    ridge: FLOP per byte at which compute and memory take equally long, of the\n"
         "      vector and the matrix units; *: an estimate, not measured\n";
}

// Each source once, after the figures that it stands for.
std::string sources_text(const std::vector<Citation>& citations, size_t indent) {
  std::vector<std::string> sources;
  for (const Citation& citation : citations) {
    if (std::find(sources.begin(), sources.end(), citation.source) == sources.end()) {
      sources.push_back(citation.source);
    }
  }
  std::string text;
  for (const std::string& source : sources) {
    std::vector<std::string> figures;
    for (const Citation& citation : citations) {
      if (citation.source == source) {
        figures.push_back(citation.figure);
      }
    }
    text += fmt::format("{:{}}{}:\n{:{}}  {}\n", "", indent, join(figures, ", "), "", indent,
                        printable(source, 400));
  }
  return text.empty() ? fmt::format("{:{}}the file cites none\n", "", indent) : text;
}

std::string device_text(const DeviceGroup& group) {
  const DeviceSpec& device = *group.device;
  std::string text = fmt::format("  {} ({}): {}\n", group.names, device_type_name(device.type),
                                 device.model.empty() ? "no model named" : device.model);
  text += fmt::format("    memory            {:.4g} GiB at {}, sustained {:.4g}{}\n",
                      static_cast<double>(device.memory_bytes) / kGibi,
                      bandwidth(device.memory_bytes_per_s),
                      with_sustained_rates(device).memory_bytes_per_s / kGiga,
                      device.sustained_memory_bytes_per_s > 0 ? "" : "*");
  text += fmt::format("    last-level cache  {:.4g} MiB\n",
                      static_cast<double>(device.l2_bytes) / kMebi);
  text += fmt::format("    compute units     {}, queues {}, copy engines {}\n",
                      device.compute_units, device.queues, device.copy_engines);
  text += fmt::format("    launch floor      {}\n", format_time(device.launch_overhead_ns));
  if (device.board_power_w > 0) {
    text += fmt::format("    board power       {:.4g} W\n", device.board_power_w);
  }
  text += fmt::format("    cost model        {}\n\n",
                      device.cost_model.empty() ? "none: speed-of-light bound" : device.cost_model);
  return text + peaks_table(device) + "\n    sources\n" + sources_text(device.citations, 6);
}

std::string links_text(const Platform& platform) {
  TextTable table({{"link"},
                   {"from"},
                   {"to"},
                   {"GB/s per direction", Align::kRight},
                   {"latency", Align::kRight},
                   {"duplex"},
                   {"sharing"}});
  for (const LinkSpec& link : platform.links) {
    table.add_row({link.name, link.from, link.to, number(link.bytes_per_s / kGiga),
                   format_time(link.latency_ns), link.full_duplex ? "full" : "half",
                   std::string(link_sharing_name(link.sharing))});
  }
  std::string text = table.render(100, 2);
  std::vector<Citation> citations;
  for (const LinkSpec& link : platform.links) {
    if (!link.source.empty()) {
      citations.push_back({link.name, link.source});
    }
  }
  return text + "\n  sources\n" + sources_text(citations, 4);
}

std::string runtime_text(const RuntimeSpec& runtime) {
  std::string text = fmt::format("runtime {}: {}\n", runtime.name, runtime.description);
  text += fmt::format("  dispatch {} per operator, {} per view, {} per run; {}\n",
                      format_time(runtime.dispatch_ns), format_time(runtime.view_dispatch_ns),
                      format_time(runtime.run_overhead_ns),
                      runtime.asynchronous ? "asynchronous" : "synchronous");
  text += runtime.fusions.empty() ? "  fusions: none\n" : "  fusions\n";
  for (const std::vector<std::string>& stage : pass_stages(runtime.fusions)) {
    text += fmt::format("    {}\n", join(stage, ", "));
  }
  return text + "  sources\n" + sources_text(runtime.citations, 4);
}

// A file below the working directory by its relative path: short enough for a terminal wherever the
// user has put the checkout. Others keep the path that was read.
std::string shown_path(const std::string& file) {
  std::error_code error;
  const std::filesystem::path here = std::filesystem::current_path(error);
  const std::filesystem::path near = std::filesystem::path(file).lexically_relative(here);
  return error || near.empty() || near.native().starts_with("..") ? file : near.string();
}

std::string platform_text(const Platform& platform) {
  std::string text = fmt::format("{}: {}\nfile    {}\n", platform.name, platform.description,
                                 shown_path(platform.source_file));
  text += fmt::format("aliases {}\n\ndevices\n",
                      platform.aliases.empty() ? "none" : join(platform.aliases, ", "));
  for (const DeviceGroup& group : groups_of(platform)) {
    text += device_text(group) + "\n";
  }
  if (!platform.links.empty()) {
    text += "links\n" + links_text(platform) + "\n";
  }
  if (!platform.collectives.empty()) {
    text += "collectives, a call by the quickest protocol\n" + collectives_text(platform) + "\n";
  }
  text += fmt::format(
      "host memory on {}{}\n\n", platform.host.node,
      platform.host.memory_bytes == 0
          ? ", size not limited"
          : fmt::format(", {:.4g} GiB", static_cast<double>(platform.host.memory_bytes) / kGibi));
  return text + runtime_text(platform.runtime);
}

Json citations_json(const std::vector<Citation>& citations) {
  Json json = Json::object();
  for (const Citation& citation : citations) {
    json[citation.figure] = citation.source;
  }
  return json;
}

Json device_json(const DeviceSpec& device) {
  const DeviceSpec sustained = with_sustained_rates(device);
  Json peaks = Json::array();
  for (size_t i = 0; i < device.peaks.size(); ++i) {
    const PeakRate& peak = device.peaks[i];
    peaks.push_back({{"dtype", dtype_name(peak.dtype)},
                     {"vector_flops_per_s", peak.flops_per_s},
                     {"matrix_flops_per_s", peak.matrix_flops_per_s},
                     {"ridge_flop_per_byte", ridge(device, peak.flops_per_s)},
                     {"matrix_ridge_flop_per_byte", ridge(device, peak.matrix_flops_per_s)},
                     {"sustained_vector_flops_per_s", sustained.peaks[i].flops_per_s},
                     {"sustained_matrix_flops_per_s", sustained.peaks[i].matrix_flops_per_s}});
  }
  if (device.tf32_flops_per_s > 0) {
    peaks.push_back({{"dtype", "tf32"},
                     {"vector_flops_per_s", 0.0},
                     {"matrix_flops_per_s", device.tf32_flops_per_s},
                     {"ridge_flop_per_byte", 0.0},
                     {"matrix_ridge_flop_per_byte", ridge(device, device.tf32_flops_per_s)},
                     {"sustained_vector_flops_per_s", 0.0},
                     {"sustained_matrix_flops_per_s", sustained.tf32_flops_per_s}});
  }
  return {{"name", device.name},
          {"model", device.model},
          {"type", device_type_name(device.type)},
          {"memory_bytes", device.memory_bytes},
          {"memory_bytes_per_s", device.memory_bytes_per_s},
          {"sustained_memory_bytes_per_s", sustained.memory_bytes_per_s},
          {"board_power_w", device.board_power_w},
          {"l2_bytes", device.l2_bytes},
          {"compute_units", device.compute_units},
          {"launch_overhead_ns", device.launch_overhead_ns},
          {"queues", device.queues},
          {"copy_engines", device.copy_engines},
          {"overlap_slowdown", device.overlap_slowdown},
          {"allow_tf32", device.allow_tf32},
          {"cost_model", device.cost_model},
          {"peaks", std::move(peaks)},
          {"sources", citations_json(device.citations)}};
}

Json runtime_json(const RuntimeSpec& runtime) {
  return {{"name", runtime.name},
          {"description", runtime.description},
          {"dispatch_ns", runtime.dispatch_ns},
          {"view_dispatch_ns", runtime.view_dispatch_ns},
          {"run_overhead_ns", runtime.run_overhead_ns},
          {"asynchronous", runtime.asynchronous},
          {"queue_depth", runtime.queue_depth},
          {"dispatch_threads", runtime.dispatch_threads},
          {"inter_op_workers", runtime.inter_op_workers},
          {"streams", runtime.streams},
          {"fusions", pass_stages(runtime.fusions)},
          {"fold_constants", runtime.fold_constants},
          {"allocator", allocator_kind_name(runtime.allocator)},
          {"allocation_bytes", runtime.allocation_bytes},
          {"sources", citations_json(runtime.citations)}};
}

Json platform_json(const Platform& platform) {
  Json devices = Json::array();
  for (const DeviceSpec& device : platform.devices) {
    devices.push_back(device_json(device));
  }
  Json links = Json::array();
  for (const LinkSpec& link : platform.links) {
    links.push_back({{"name", link.name},
                     {"from", link.from},
                     {"to", link.to},
                     {"bytes_per_s", link.bytes_per_s},
                     {"latency_ns", link.latency_ns},
                     {"full_duplex", link.full_duplex},
                     {"sharing", link_sharing_name(link.sharing)},
                     {"source", link.source}});
  }
  Json collectives = Json::array();
  for (const CollectiveTiming& fit : platform.collectives) {
    Json protocols = Json::array();
    for (const CollectiveProtocol& protocol : fit.protocols) {
      protocols.push_back({{"start_ns", protocol.start_ns},
                           {"step_ns", protocol.step_ns},
                           {"bytes_per_s", protocol.bytes_per_s}});
    }
    collectives.push_back({{"over", fit.over},
                           {"operation", fit.operation},
                           {"protocols", std::move(protocols)},
                           {"source", fit.source}});
  }
  return {{"name", platform.name},
          {"description", platform.description},
          {"file", platform.source_file},
          {"aliases", platform.aliases},
          {"devices", std::move(devices)},
          {"switches", platform.switches},
          {"links", std::move(links)},
          {"collectives", std::move(collectives)},
          {"host", {{"node", platform.host.node}, {"memory_bytes", platform.host.memory_bytes}}},
          {"runtime", runtime_json(platform.runtime)}};
}

StatusOr<std::vector<Platform>> load_all() {
  std::vector<Platform> platforms;
  for (const std::string& name : builtin_platforms()) {
    DFSIM_ASSIGN_OR_RETURN(Platform platform, load_platform(name));
    platforms.push_back(std::move(platform));
  }
  if (platforms.empty()) {
    return not_found(
        "found no hardware files, expected those that come with dfsim; set DFSIM_DATA_DIR to the "
        "folder that holds hardware/");
  }
  return platforms;
}

std::string list_text(const std::vector<Platform>& platforms) {
  TextTable table({{"name"},
                   {"devices"},
                   {"GiB", Align::kRight},
                   {"GB/s", Align::kRight},
                   {"fp32", Align::kRight},
                   {"fp16 mat", Align::kRight},
                   {"runtime"}});
  std::vector<std::string> aliases;
  for (const Platform& platform : platforms) {
    const DeviceSpec& device = platform.devices[0];
    if (!platform.aliases.empty()) {
      aliases.push_back(join(platform.aliases, ", ") + " = " + platform.name);
    }
    table.add_row({platform.name, devices_of(platform),
                   number(static_cast<double>(device.memory_bytes) / kGibi),
                   number(device.memory_bytes_per_s / kGiga),
                   number(device.peak_flops_per_s(DType::kFloat32, false) / kTera),
                   number(device.peak_flops_per_s(DType::kFloat16, true) / kTera),
                   platform.runtime.name});
  }
  return table.render() +
         "\nMemory, bandwidth and peaks (TFLOP/s) are those of the first device. "
         "`dfsim hardware NAME` shows one.\nOther names: " +
         join(aliases, "; ") + "\nRuntimes: " + join(builtin_runtimes(), ", ") + "\n";
}

Json list_json(const std::vector<Platform>& platforms) {
  Json list = Json::array();
  for (const Platform& platform : platforms) {
    list.push_back(platform_json(platform));
  }
  return {{"schema", "dfsim.hardware-list/1"},
          {"platforms", std::move(list)},
          {"runtimes", builtin_runtimes()}};
}

Status run_hardware(const HardwareOptions& options) {
  std::string text;
  if (options.name.empty()) {
    DFSIM_ASSIGN_OR_RETURN(const std::vector<Platform> platforms, load_all());
    text = options.json ? list_json(platforms).text() : fit_lines(list_text(platforms));
  } else {
    DFSIM_ASSIGN_OR_RETURN(const Platform platform, load_platform(options.name));
    Json json = {{"schema", "dfsim.hardware/1"}};
    json.update(platform_json(platform));
    text = options.json ? json.text() : fit_lines(platform_text(platform));
  }
  return write_result(options.output, text);
}

OptionTable hardware_options(HardwareOptions& o) {
  return {
      {.names = "name",
       .target = &o.name,
       .help = "A hardware file, or the name or alias of a built-in one; without it, a list"},
      {.names = "--json", .target = &o.json, .help = "JSON instead of text"},
      {.names = "-o,--output",
       .target = &o.output,
       .help = "Write to this file; - is stdout",
       .show_default = true},
  };
}

}  // namespace

CommandSpec hardware_command() {
  const auto options = std::make_shared<HardwareOptions>();
  return {.name = "hardware",
          .summary = "List the known hardware, or show one: peaks, memory, links, sources",
          .options = hardware_options(*options),
          .examples = {{"dfsim hardware", "the list of built-in hardware"},
                       {"dfsim hardware a100", "peaks, memory and sources of one of them"}},
          .run = [options](const GlobalOptions&) { return run_hardware(*options); }};
}

}  // namespace dfsim::cli
