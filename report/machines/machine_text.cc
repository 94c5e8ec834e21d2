// Text of machines: tables of peaks and links, and each source once.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/text_table.h"
#include "base/units.h"
#include "report/machines/machine_views.h"

namespace dfsim::inline report {

namespace {

constexpr double kTera = 1e12;
constexpr double kGiga = 1e9;
constexpr double kMebi = 1024.0 * 1024.0;
constexpr double kGibi = 1024.0 * kMebi;

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
  const DeviceSpec* sustained;
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

std::vector<DeviceGroup> groups_of(const Machine& machine) {
  std::vector<DeviceGroup> groups;
  for (size_t d = 0; d < machine.platform.devices.size(); ++d) {
    const DeviceSpec& device = machine.platform.devices[d];
    if (!groups.empty() && same_but_name(*groups.back().device, device)) {
      groups.back().names = groups.back().device->name + " .. " + device.name;
    } else {
      groups.push_back({&device, &machine.sustained[d], device.name});
    }
  }
  return groups;
}

// The sustained rates of a kind of units, "*" where they are estimates.
std::string sustained_number(const DeviceSpec& device, const DeviceSpec& sustained, size_t peak,
                             bool matrix) {
  const PeakRate& rate = sustained.peaks[peak];
  const double value = matrix ? rate.matrix_flops_per_s : rate.flops_per_s;
  const bool measured =
      std::any_of(device.sustained.begin(), device.sustained.end(), [&](const PeakRate& known) {
        return known.dtype == rate.dtype &&
               (matrix ? known.matrix_flops_per_s : known.flops_per_s) > 0;
      });
  return value == 0 ? "-" : fmt::format("{:.3g}{}", value / kTera, measured ? " " : "*");
}

std::string peaks_table(const DeviceSpec& device, const DeviceSpec& sustained) {
  TextTable table({{"dtype"},
                   {"vector TFLOP/s", Align::kRight},
                   {"sustained", Align::kRight},
                   {"matrix TFLOP/s", Align::kRight},
                   {"sustained", Align::kRight},
                   {"ridge", Align::kRight},
                   {"matrix", Align::kRight}});
  for (size_t i = 0; i < device.peaks.size(); ++i) {
    const PeakRate& peak = device.peaks[i];
    table.add_row(
        {std::string(dtype_name(peak.dtype)), number(peak.flops_per_s / kTera),
         sustained_number(device, sustained, i, false), number(peak.matrix_flops_per_s / kTera),
         sustained_number(device, sustained, i, true), number(ridge(device, peak.flops_per_s)),
         number(ridge(device, peak.matrix_flops_per_s))});
  }
  if (device.tf32_flops_per_s > 0) {
    table.add_row({"tf32", "-", "-", number(device.tf32_flops_per_s / kTera),
                   fmt::format("{:.3g}*", sustained.tf32_flops_per_s / kTera), "-",
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
  const DeviceSpec& sustained = *group.sustained;
  std::string text = fmt::format("  {} ({}): {}\n", group.names, device_type_name(device.type),
                                 device.model.empty() ? "no model named" : device.model);
  text += fmt::format("    memory            {:.4g} GiB at {}, sustained {:.4g}{}\n",
                      static_cast<double>(device.memory_bytes) / kGibi,
                      bandwidth(device.memory_bytes_per_s), sustained.memory_bytes_per_s / kGiga,
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
  return text + peaks_table(device, sustained) + "\n    sources\n" +
         sources_text(device.citations, 6);
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

std::string runtime_text(const Machine& machine) {
  const RuntimeSpec& runtime = machine.platform.runtime;
  std::string text = fmt::format("runtime {}: {}\n", runtime.name, runtime.description);
  text += fmt::format("  dispatch {} per operator, {} per view, {} per run; {}\n",
                      format_time(runtime.dispatch_ns), format_time(runtime.view_dispatch_ns),
                      format_time(runtime.run_overhead_ns),
                      runtime.asynchronous ? "asynchronous" : "synchronous");
  text += runtime.fusions.empty() ? "  fusions: none\n" : "  fusions\n";
  for (const std::vector<std::string>& stage : machine.fusion_stages) {
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

std::string collectives_text(const Platform& platform) {
  TextTable table({{"over links"},
                   {"collective"},
                   {"start", Align::kRight},
                   {"step", Align::kRight},
                   {"GB/s", Align::kRight}});
  std::string sources;
  std::set<std::string> cited;
  for (const CollectiveTiming& fit : platform.collectives) {
    const std::string operation = fit.operation.empty() ? "any" : fit.operation;
    for (const CollectiveProtocol& protocol : fit.protocols) {
      const bool first = &protocol == fit.protocols.data();
      table.add_row({first ? fit.over : "", first ? operation : "",
                     format_time(std::llround(protocol.start_ns)),
                     format_time(std::llround(protocol.step_ns)),
                     fmt::format("{:.4g}", protocol.bytes_per_s / 1e9)});
    }
    if (!fit.source.empty() && cited.insert(fit.source).second) {
      sources += fmt::format("    {}:\n      {}\n", fit.over, printable(fit.source, 400));
    }
  }
  return table.render(100, 2) + (sources.empty() ? "" : fmt::format("\n  sources\n{}", sources));
}

}  // namespace

std::string machine_text(const Machine& machine) {
  const Platform& platform = machine.platform;
  std::string text = fmt::format("{}: {}\nfile    {}\n", platform.name, platform.description,
                                 shown_path(platform.source_file));
  text += fmt::format("aliases {}\n\ndevices\n",
                      platform.aliases.empty() ? "none" : join(platform.aliases, ", "));
  for (const DeviceGroup& group : groups_of(machine)) {
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
  return text + runtime_text(machine);
}

std::string machine_list_text(const MachineList& list) {
  TextTable table({{"name"},
                   {"devices"},
                   {"GiB", Align::kRight},
                   {"GB/s", Align::kRight},
                   {"fp32", Align::kRight},
                   {"fp16 mat", Align::kRight},
                   {"runtime"}});
  std::vector<std::string> aliases;
  for (const Machine& machine : list.machines) {
    const Platform& platform = machine.platform;
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
         join(aliases, "; ") + "\nRuntimes: " + join(list.runtimes, ", ") + "\n";
}

}  // namespace dfsim::inline report
