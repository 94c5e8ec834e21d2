// The clusters of TripletRun (https://github.com/lanhin/TripletRun), the simulator of the DONF
// paper: devices with a speed, a memory and a bandwidth to it, and links between devices or between
// the computers that devices are in.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/units.h"

namespace dfsim::inline graphs {

struct TripletCluster {
  struct Device {
    int64_t id = 0;
    double compute_per_s = 0;       // of a node's comDmd
    double memory_bytes_per_s = 0;  // of its dataDmd
    Bytes memory_bytes = 0;         // 0 = not limited
    int64_t computer = 0;
  };
  struct Link {
    int64_t from = 0;  // ids of devices, or computers
    int64_t to = 0;
    double bytes_per_s = 0;
    bool between_computers = false;
  };

  std::string name;
  std::vector<Device> devices;  // ids are distinct
  std::vector<Link> links;

  // Bandwidth between two devices (by position): their own link's, else that of their computers; 0
  // when there is none. O(links).
  double bytes_per_s(size_t from, size_t to) const;
};

// Errors (kInvalidInput, kNotFound; "FILE:LINE: ..."): no devices, ids that repeat, speeds that are
// not positive, links whose ends are not there. Numbers may be written as texts, as TripletRun
// does; KB are 1024 bytes.
StatusOr<TripletCluster> read_triplet_cluster(const std::string& path);
StatusOr<TripletCluster> parse_triplet_cluster(std::string_view content, const std::string& path);
// The file starts like one (an unreadable file does not).
bool looks_like_triplet_cluster(const std::string& path);

}  // namespace dfsim::inline graphs
