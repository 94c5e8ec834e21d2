// The paged KV cache of one replica: how many blocks are free, which sequence holds how many, and
// which blocks of finished prompts are kept for prompts that begin alike.
//
// Paper: Kwon et al. 2023, "Efficient Memory Management for Large Language Model Serving with
//   PagedAttention" (doi:10.1145/3600006.3613165).
// Invariant (check()): free + held by sequences + kept for reuse = total. Blocks without a content
//   hash are interchangeable, so sequences hold counts of them; blocks of prompts with hashes are
//   entries in a table, shared by reference count, and evicted least recently used first once
//   no sequence holds them.
// Complexity: O(1) per block of a hashed prefix, O(1) per call otherwise.
#pragma once

#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "serving/workload/request.h"

namespace dfsim::inline serving {

// A sequence's share of the cache; owned by the sequence, changed by BlockCache only.
struct CacheShare {
  int64_t own_blocks = 0;        // blocks that no other sequence can use
  std::vector<uint64_t> hashed;  // chained hashes of shared prefix blocks held, first to last
  int64_t hashed_tokens = 0;     // tokens those cover
};

class BlockCache {
 public:
  // `prefix_caching` off: hashes of requests are ignored. Both counts positive.
  BlockCache(int64_t total_blocks, int64_t block_tokens, bool prefix_caching);

  int64_t total_blocks() const { return total_blocks_; }
  int64_t block_tokens() const { return block_tokens_; }
  // Blocks that can be had: free ones and kept ones that no sequence holds.
  int64_t available_blocks() const { return free_blocks_ + idle_blocks_; }
  // Blocks that sequences hold, shared ones counted once.
  int64_t held_blocks() const { return total_blocks_ - available_blocks(); }
  int64_t blocks_for(int64_t tokens) const { return (tokens + block_tokens_ - 1) / block_tokens_; }

  // Tokens at the beginning of `request` that the cache has. The last token of a prompt is always
  // computed (its logits are needed), so at most prompt_tokens - 1.
  int64_t cached_tokens(const RequestSpec& request) const;
  // Takes the cached beginning of `request` into `share` (which is empty) and returns its tokens.
  int64_t acquire_prefix(const RequestSpec& request, CacheShare* share);
  // Makes `share` cover `tokens` tokens; false, and nothing changes, when there are too few blocks.
  bool grow(CacheShare* share, int64_t tokens);
  // Blocks that grow() would have to take.
  int64_t missing_blocks(const CacheShare& share, int64_t tokens) const;
  // `computed` tokens of the prompt are in the cache now: their full hashed blocks become shared.
  void publish(const RequestSpec& request, int64_t computed, CacheShare* share);
  // Gives everything back; shared blocks are kept for reuse until they are evicted.
  void release(CacheShare* share);

  int64_t lookup_tokens() const { return lookup_tokens_; }  // prompt tokens asked for so far
  int64_t hit_tokens() const { return hit_tokens_; }        // of those, found
  // The invariant above, from the table itself; O(entries). For tests.
  bool check() const;

 private:
  struct Entry {
    int64_t holders = 0;
    int64_t blocks = 0;
    std::list<uint64_t>::iterator idle;  // in idle_, when no sequence holds it
  };
  bool take(int64_t blocks);
  static uint64_t chain(uint64_t parent, uint64_t hash);
  int64_t unit_tokens(const RequestSpec& request) const { return request.tokens_per_hash; }

  int64_t total_blocks_;
  int64_t block_tokens_;
  bool prefix_caching_;
  int64_t free_blocks_;
  int64_t idle_blocks_ = 0;
  std::unordered_map<uint64_t, Entry> entries_;
  std::list<uint64_t> idle_;  // least recently used first
  int64_t lookup_tokens_ = 0;
  int64_t hit_tokens_ = 0;
};

}  // namespace dfsim::inline serving
