// The paged cache: counts of blocks, reuse of prompts that begin alike, eviction.
#include <catch2/catch.hpp>
#include <map>

#include "base/rng.h"
#include "serving/cache/block_cache.h"

namespace dfsim {
namespace {

RequestSpec prompt_of(int64_t tokens, std::vector<uint64_t> hashes) {
  RequestSpec spec;
  spec.prompt_tokens = tokens;
  spec.prefix_hashes = std::move(hashes);
  spec.tokens_per_hash = 64;
  return spec;
}

TEST_CASE("Block cache: sequences take whole blocks and give them back") {
  BlockCache cache(10, 16, false);
  CacheShare first;
  CacheShare second;
  CHECK(cache.grow(&first, 17));
  CHECK(cache.held_blocks() == 2);
  CHECK(cache.grow(&first, 32));
  CHECK(cache.held_blocks() == 2);
  CHECK_FALSE(cache.grow(&second, 9 * 16));
  CHECK(cache.held_blocks() == 2);
  CHECK(cache.grow(&second, 8 * 16));
  CHECK(cache.available_blocks() == 0);
  CHECK_FALSE(cache.grow(&first, 33));
  cache.release(&second);
  CHECK(cache.available_blocks() == 8);
  CHECK(cache.check());
}

TEST_CASE("Block cache: a second prompt that begins alike computes only the rest") {
  BlockCache cache(100, 16, true);
  const RequestSpec first = prompt_of(200, {1, 2, 3});
  CacheShare share;
  CHECK(cache.acquire_prefix(first, &share) == 0);
  REQUIRE(cache.grow(&share, 200));
  cache.publish(first, 200, &share);
  CHECK(share.hashed_tokens == 192);
  // 12 blocks of 16 tokens are shared, one holds the last 8 tokens.
  CHECK(cache.held_blocks() == 13);

  const RequestSpec second = prompt_of(300, {1, 2, 9});
  CacheShare other;
  CHECK(cache.acquire_prefix(second, &other) == 128);
  REQUIRE(cache.grow(&other, 300));
  CHECK(cache.held_blocks() == 13 + 11);  // 172 more tokens
  cache.release(&share);
  cache.release(&other);
  CHECK(cache.held_blocks() == 0);
  // Kept for reuse; the last token of a prompt is computed even when all of it is there.
  CHECK(cache.cached_tokens(prompt_of(192, {1, 2, 3})) == 128);
  CHECK(cache.cached_tokens(prompt_of(193, {1, 2, 3})) == 192);
  CHECK(cache.cached_tokens(prompt_of(193, {2, 3})) == 0);
  CHECK(cache.check());
}

TEST_CASE(
    "Block cache: what no request holds is evicted, the oldest first and prefixes from their "
    "ends") {
  BlockCache cache(12, 16, true);
  for (const uint64_t hash : {1, 5}) {
    const RequestSpec spec = prompt_of(65, {hash});
    CacheShare share;
    cache.acquire_prefix(spec, &share);
    REQUIRE(cache.grow(&share, 64));
    cache.publish(spec, 64, &share);
    cache.release(&share);
  }
  CHECK(cache.available_blocks() == 12);
  CacheShare large;
  REQUIRE(cache.grow(&large, 16 * 5));  // 4 blocks are free, one of the two prompts must go
  CHECK(cache.cached_tokens(prompt_of(65, {1})) == 0);
  CHECK(cache.cached_tokens(prompt_of(65, {5})) == 64);
  CHECK(cache.check());
}

TEST_CASE("Block cache: random use keeps the books") {
  Rng rng(11);
  BlockCache cache(200, 16, true);
  std::map<int, std::pair<RequestSpec, CacheShare>> held;
  for (int step = 0; step < 20000; ++step) {
    const int key = static_cast<int>(rng.below(12));
    const auto it = held.find(key);
    if (it == held.end()) {
      auto& [spec, share] = held[key];
      spec = prompt_of(70 + static_cast<int64_t>(rng.below(500)), {});
      for (uint64_t i = 0; i < static_cast<uint64_t>(spec.prompt_tokens / 64); ++i) {
        spec.prefix_hashes.push_back(rng.below(3));
      }
      cache.acquire_prefix(spec, &share);
    } else if (rng.below(3) == 0) {
      cache.release(&it->second.second);
      held.erase(it);
    } else {
      auto& [spec, share] = it->second;
      const int64_t tokens =
          static_cast<int64_t>(rng.below(static_cast<uint64_t>(spec.prompt_tokens)) + 1);
      if (cache.grow(&share, tokens)) {
        cache.publish(spec, tokens, &share);
      }
    }
    int64_t own = 0;
    for (const auto& [other, value] : held) {
      own += value.second.own_blocks;
    }
    CHECK(own <= cache.held_blocks());
    REQUIRE(cache.check());
  }
  for (auto& [key, value] : held) {
    cache.release(&value.second);
  }
  CHECK(cache.held_blocks() == 0);
}

}  // namespace
}  // namespace dfsim
