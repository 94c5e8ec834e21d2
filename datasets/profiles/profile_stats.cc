// Sorts row ids by what makes two measurements the same and walks the runs of equal ones:
// groups, duplicates and networks come out of one order.
#include "datasets/profiles/profile_stats.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "datasets/profiles/statistics.h"

namespace dfsim::inline datasets {
namespace {

// Everything that same_measurement() compares, as a sortable key.
auto measurement_key(const ProfileRow& row) {
  return std::make_tuple(row.device, row.op_type, row.compute_dtype, row.timing, row.inputs,
                         row.attributes, row.outputs, row.runtime, row.runtime_version);
}

int64_t operand_bytes(const TensorList& tensors) {
  Count bytes;
  for (const TensorSpec& tensor : tensors) {
    Count elements(1);
    for (const int64_t extent : tensor.extents) {
      elements *= Count(std::max<int64_t>(extent, 0));
    }
    bytes += dtype_bytes(tensor.dtype, elements);
  }
  return bytes.value();
}

void finish_group(std::vector<double>& times, ProfileGroup* group) {
  const auto [least, most] = std::minmax_element(times.begin(), times.end());
  group->min_ns = std::llround(*least);
  group->max_ns = std::llround(*most);
  group->median_ns = std::llround(median(times));
}

std::vector<ProfileGroup> find_groups(const Profile& profile,
                                      const std::vector<const ProfileRow*>& sorted) {
  using Key = std::tuple<std::string, std::string, DType, TimingKind, OpClass>;
  std::map<Key, std::pair<ProfileGroup, std::vector<double>>> groups;
  const ProfileRow* previous = nullptr;
  for (const ProfileRow* row : sorted) {
    const DType dtype = profile.dtype(*row);
    auto& [group, times] = groups[{profile.text(row->device), profile.text(row->op_type), dtype,
                                   row->timing, row->op_class}];
    const int64_t bytes =
        operand_bytes(profile.tensors(row->inputs)) + operand_bytes(profile.tensors(row->outputs));
    group.min_bytes = times.empty() ? bytes : std::min(group.min_bytes, bytes);
    group.max_bytes = std::max(group.max_bytes, bytes);
    group.distinct += previous == nullptr || !same_measurement(*previous, *row) ? 1 : 0;
    times.push_back(static_cast<double>(row->time_ns));
    previous = row;
  }
  std::vector<ProfileGroup> out;
  for (auto& [key, entry] : groups) {
    auto& [group, times] = entry;
    std::tie(group.device, group.op_type, group.dtype, group.timing, group.op_class) = key;
    group.rows = static_cast<int64_t>(times.size());
    finish_group(times, &group);
    out.push_back(std::move(group));
  }
  return out;
}

DuplicateStats find_duplicates(const std::vector<const ProfileRow*>& sorted) {
  DuplicateStats stats;
  std::vector<double> spreads;
  std::vector<double> times;
  for (size_t begin = 0, end = 0; begin < sorted.size(); begin = end) {
    while (end < sorted.size() && same_measurement(*sorted[begin], *sorted[end])) {
      ++end;
    }
    if (end - begin < 2) {
      continue;
    }
    ++stats.measurements;
    stats.rows += static_cast<int64_t>(end - begin);
    times.clear();
    for (size_t i = begin; i < end; ++i) {
      times.push_back(static_cast<double>(sorted[i]->time_ns));
    }
    const double middle = median(times);
    for (const double time : times) {
      spreads.push_back(std::abs(time - middle) / middle);
    }
  }
  if (!spreads.empty()) {
    std::sort(spreads.begin(), spreads.end());
    stats.p90_spread = spreads[(spreads.size() - 1) * 9 / 10];
    stats.median_spread = median(spreads);
  }
  return stats;
}

std::vector<NetworkStats> find_networks(const Profile& profile) {
  std::map<std::tuple<std::string, int32_t, std::string>, std::pair<NetworkStats, std::set<TextId>>>
      networks;
  for (const ProfileRow& row : profile.rows()) {
    const std::string& name = profile.text(row.network);
    if (name.empty()) {
      continue;
    }
    const std::string& device = profile.text(row.device);
    auto& [network, types] = networks[{name, row.batch, device}];
    network.network = name;
    network.device = device;
    network.batch = row.batch;
    ++network.rows;
    network.total_ns = (Count(network.total_ns) + Count(row.time_ns) * Count(row.count)).value();
    types.insert(row.op_type);
  }
  std::vector<NetworkStats> out;
  for (auto& [key, entry] : networks) {
    entry.first.op_types = static_cast<int64_t>(entry.second.size());
    out.push_back(std::move(entry.first));
  }
  return out;
}

}  // namespace

ProfileStats profile_stats(const Profile& profile) {
  std::vector<const ProfileRow*> sorted;
  sorted.reserve(profile.size());
  for (const ProfileRow& row : profile.rows()) {
    sorted.push_back(&row);
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const ProfileRow* a, const ProfileRow* b) {
    return measurement_key(*a) < measurement_key(*b);
  });
  ProfileStats stats;
  stats.rows = static_cast<int64_t>(profile.size());
  stats.groups = find_groups(profile, sorted);
  stats.networks = find_networks(profile);
  stats.duplicates = find_duplicates(sorted);
  return stats;
}

}  // namespace dfsim::inline datasets
