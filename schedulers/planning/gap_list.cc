// Blocks of gaps with the longest gap of each. A search skips blocks whose longest gap is too
// short; a block that grows too large is split in two.
#include "schedulers/planning/gap_list.h"

#include "base/check.h"

namespace dfsim::inline schedulers {

size_t GapList::block_of(TimeNs time) const {
  const auto after = std::upper_bound(first_start_.begin(), first_start_.end(), time);
  return after == first_start_.begin() ? 0 : static_cast<size_t>(after - first_start_.begin()) - 1;
}

TimeNs GapList::fit_into_gap(TimeNs ready, TimeNs duration) const {
  for (size_t b = block_of(ready); b < blocks_.size(); ++b) {
    if (longest_[b] < duration) {
      continue;
    }
    const Block& block = *blocks_[b];
    for (size_t i = 0; i < block.count; ++i) {
      const Gap& gap = block.gaps[i];
      const TimeNs start = std::max(ready, gap.start);
      if (start + duration <= gap.end) {
        return start;
      }
    }
  }
  return std::max(ready, end_);
}

void GapList::refresh(size_t b) {
  const Block& block = *blocks_[b];
  first_start_[b] = block.gaps[0].start;
  TimeNs longest = 0;
  for (size_t i = 0; i < block.count; ++i) {
    longest = std::max(longest, block.gaps[i].end - block.gaps[i].start);
  }
  longest_[b] = longest;
}

void GapList::insert(size_t b, size_t position, Gap gap) {
  if (blocks_.empty()) {
    blocks_.push_back(std::make_unique<Block>());
    first_start_.push_back(gap.start);
    longest_.push_back(0);
  }
  if (blocks_[b]->count == kBlockGaps) {
    auto upper = std::make_unique<Block>();
    constexpr size_t kHalf = kBlockGaps / 2;
    std::copy(blocks_[b]->gaps.begin() + kHalf, blocks_[b]->gaps.end(), upper->gaps.begin());
    upper->count = kBlockGaps - kHalf;
    blocks_[b]->count = kHalf;
    const auto at = static_cast<std::ptrdiff_t>(b + 1);
    blocks_.insert(blocks_.begin() + at, std::move(upper));
    first_start_.insert(first_start_.begin() + at, 0);
    longest_.insert(longest_.begin() + at, 0);
    refresh(b);
    refresh(b + 1);
    if (position > kHalf) {
      ++b;
      position -= kHalf;
    }
  }
  Block& block = *blocks_[b];
  auto* const where = block.gaps.begin() + position;
  std::copy_backward(where, block.gaps.begin() + block.count, block.gaps.begin() + block.count + 1);
  *where = gap;
  ++block.count;
  first_start_[b] = block.gaps[0].start;
  longest_[b] = std::max(longest_[b], gap.end - gap.start);
}

void GapList::erase(size_t b, size_t position) {
  Block& block = *blocks_[b];
  std::copy(block.gaps.begin() + position + 1, block.gaps.begin() + block.count,
            block.gaps.begin() + position);
  --block.count;
  if (block.count > 0) {
    refresh(b);
    return;
  }
  const auto at = static_cast<std::ptrdiff_t>(b);
  blocks_.erase(blocks_.begin() + at);
  first_start_.erase(first_start_.begin() + at);
  longest_.erase(longest_.begin() + at);
}

void GapList::occupy(TimeNs start, TimeNs duration) {
  if (start >= end_) {
    const Gap idle{end_, start};
    if (useful(idle)) {
      const size_t last = blocks_.empty() ? 0 : blocks_.size() - 1;
      insert(last, blocks_.empty() ? 0 : blocks_[last]->count, idle);
    }
    end_ = start + duration;
    return;
  }
  // The gap that holds the start may be the last of its block or an earlier, equal one.
  for (size_t b = block_of(start); b < blocks_.size(); ++b) {
    Block& block = *blocks_[b];
    for (size_t i = 0; i < block.count; ++i) {
      const Gap gap = block.gaps[i];
      if (start < gap.start || start + duration > gap.end) {
        continue;
      }
      const Gap before{gap.start, start};
      const Gap after{start + duration, gap.end};
      if (useful(before) && useful(after)) {
        block.gaps[i] = before;
        refresh(b);
        insert(b, i + 1, after);
      } else if (useful(before) || useful(after)) {
        block.gaps[i] = useful(before) ? before : after;
        refresh(b);
      } else {
        erase(b, i);
      }
      return;
    }
  }
  DFSIM_CHECK(false && "occupied time that is not free");
}

}  // namespace dfsim::inline schedulers
