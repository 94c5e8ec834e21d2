// How much wider or narrower the intervals of whole networks have to be, from networks that were
// measured: split conformal prediction (Lei et al. 2018, doi:10.1080/01621459.2017.1307116) with
// the distance |ln(measured / predicted)| over the interval's half width.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "study/validation/validation.h"

namespace dfsim::inline study {

inline constexpr size_t kLeastNetworks = 5;

// By device, in order of their first run; runs of a part of their network are left out. Error
// (kInvalidInput): a device has runs of fewer than kLeastNetworks networks. O(n k log n) for n runs
// of k networks.
StatusOr<std::vector<IntervalFit>> fit_intervals(const std::vector<ValidatedRun>& runs);

// Puts the scales into the manifest of the model in `directory`; other devices keep theirs.
// Errors: kNotFound, kInvalidInput (no model there), kFailed (not writable).
Status write_interval_scales(const std::string& directory, const std::vector<IntervalFit>& fits);

}  // namespace dfsim::inline study
