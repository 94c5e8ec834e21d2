// The block cache. A prefix is named by a chain of hashes (each block's hash covers all before it),
// so a match of one entry implies that everything before it matches, too. Entries go back to the
// idle list last block first: the end of a prefix is evicted before its beginning, which more
// prompts can use.
#include "serving/cache/block_cache.h"

#include <algorithm>

#include "base/check.h"

namespace dfsim::inline serving {

BlockCache::BlockCache(int64_t total_blocks, int64_t block_tokens, bool prefix_caching)
    : total_blocks_(total_blocks),
      block_tokens_(block_tokens),
      prefix_caching_(prefix_caching),
      free_blocks_(total_blocks) {
  DFSIM_CHECK(total_blocks > 0 && block_tokens > 0);
}

uint64_t BlockCache::chain(uint64_t parent, uint64_t hash) {
  uint64_t z = parent * 0x9E3779B97F4A7C15ULL + hash + 0xD1342543DE82EF95ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

int64_t BlockCache::cached_tokens(const RequestSpec& request) const {
  if (!prefix_caching_ || request.prefix_hashes.empty()) {
    return 0;
  }
  int64_t tokens = 0;
  uint64_t key = 0;
  for (const uint64_t hash : request.prefix_hashes) {
    key = chain(key, hash);
    if (tokens + unit_tokens(request) >= request.prompt_tokens || !entries_.contains(key)) {
      break;
    }
    tokens += unit_tokens(request);
  }
  return tokens;
}

int64_t BlockCache::acquire_prefix(const RequestSpec& request, CacheShare* share) {
  DFSIM_CHECK(share->own_blocks == 0 && share->hashed.empty());
  lookup_tokens_ += request.prompt_tokens;
  const int64_t tokens = cached_tokens(request);
  uint64_t key = 0;
  for (int64_t i = 0; i * unit_tokens(request) < tokens; ++i) {
    key = chain(key, request.prefix_hashes[static_cast<size_t>(i)]);
    Entry& entry = entries_.at(key);
    if (entry.holders++ == 0) {
      idle_.erase(entry.idle);
      idle_blocks_ -= entry.blocks;
    }
    share->hashed.push_back(key);
  }
  share->hashed_tokens = tokens;
  hit_tokens_ += tokens;
  return tokens;
}

int64_t BlockCache::missing_blocks(const CacheShare& share, int64_t tokens) const {
  const int64_t own_tokens = tokens - share.hashed_tokens;
  // Most steps stay inside the blocks that the sequence has, which needs no division.
  return own_tokens <= share.own_blocks * block_tokens_ ? 0
                                                        : blocks_for(own_tokens) - share.own_blocks;
}

bool BlockCache::take(int64_t blocks) {
  if (blocks > available_blocks()) {
    return false;
  }
  while (free_blocks_ < blocks) {
    const auto victim = entries_.find(idle_.front());
    idle_.pop_front();
    idle_blocks_ -= victim->second.blocks;
    free_blocks_ += victim->second.blocks;
    entries_.erase(victim);
  }
  free_blocks_ -= blocks;
  return true;
}

bool BlockCache::grow(CacheShare* share, int64_t tokens) {
  const int64_t blocks = missing_blocks(*share, tokens);
  if (!take(blocks)) {
    return false;
  }
  share->own_blocks += blocks;
  return true;
}

void BlockCache::publish(const RequestSpec& request, int64_t computed, CacheShare* share) {
  if (!prefix_caching_ || request.prefix_hashes.empty()) {
    return;
  }
  const int64_t unit = unit_tokens(request);
  const int64_t unit_blocks = blocks_for(unit);
  // Whole units that are computed and still held as own blocks, in order.
  while (share->hashed.size() < request.prefix_hashes.size() &&
         share->hashed_tokens + unit <= std::min(computed, request.prompt_tokens) &&
         share->own_blocks >= unit_blocks) {
    const uint64_t key = chain(share->hashed.empty() ? 0 : share->hashed.back(),
                               request.prefix_hashes[share->hashed.size()]);
    const auto [it, fresh] = entries_.try_emplace(key);
    Entry& entry = it->second;
    share->own_blocks -= unit_blocks;
    if (fresh) {
      entry.blocks = unit_blocks;
    } else {
      // Another sequence computed the same at the same time: the second copy is given back.
      free_blocks_ += unit_blocks;
      if (entry.holders == 0) {
        idle_.erase(entry.idle);
        idle_blocks_ -= entry.blocks;
      }
    }
    ++entry.holders;
    share->hashed.push_back(key);
    share->hashed_tokens += unit;
  }
}

void BlockCache::release(CacheShare* share) {
  free_blocks_ += share->own_blocks;
  for (auto key = share->hashed.rbegin(); key != share->hashed.rend(); ++key) {
    Entry& entry = entries_.at(*key);
    if (--entry.holders == 0) {
      entry.idle = idle_.insert(idle_.end(), *key);
      idle_blocks_ += entry.blocks;
    }
  }
  *share = CacheShare();
}

bool BlockCache::check() const {
  int64_t held = 0;
  int64_t idle = 0;
  for (const auto& [key, entry] : entries_) {
    (entry.holders > 0 ? held : idle) += entry.blocks;
  }
  return idle == idle_blocks_ && free_blocks_ >= 0 && idle_.size() <= entries_.size() &&
         held + idle + free_blocks_ <= total_blocks_;
}

}  // namespace dfsim::inline serving
