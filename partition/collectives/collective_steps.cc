// The rounds of each algorithm as messages between positions of a group, and their tasks for the
// simulator. A rank's message of a round waits for those that it received in the rounds before.
#include "partition/collectives/collective_steps.h"

#include <fmt/format.h>

#include <bit>

namespace dfsim::inline partition {
namespace {

// Piece `index` of n bytes in `parts` pieces that differ by a byte at most.
Bytes piece(Bytes n, int64_t parts, int64_t index) {
  return n / parts + (index < n % parts ? 1 : 0);
}

class RoundMaker {
 public:
  explicit RoundMaker(uint32_t ranks) : ranks_(ranks) {}
  std::vector<MessageRound> take() { return std::move(rounds_); }

  // Rings of `length` ranks that are `stride` apart; each of them passes pieces of its own buffer
  // of n bytes on, length - 1 times. A ring's first rank f has f / length ... is any rank with
  // position 0 in its ring.
  void ring(uint32_t length, uint32_t stride, Bytes n) {
    for (uint32_t k = 0; k + 1 < length; ++k) {
      MessageRound round;
      for (uint32_t r = 0; r < ranks_; ++r) {
        const uint32_t position = r / stride % length;
        const uint32_t first = r - position * stride;
        round.push_back({r, first + (position + 1) % length * stride,
                         piece(n, length, (position + length - k) % length)});
      }
      rounds_.push_back(std::move(round));
    }
  }

  // Partners at distance 1, 2, 4...: n / p bytes, doubling (gather); or the other way round with
  // halves (scatter); or the whole buffer each time.
  void exchange(Bytes n, bool doubling, bool whole) {
    for (uint32_t step = 1; step < ranks_; step *= 2) {
      const uint32_t distance = doubling ? step : ranks_ / 2 / step;
      const Bytes bytes = whole ? n : piece(n, int64_t{ranks_} / distance, 0);
      MessageRound round;
      for (uint32_t r = 0; r < ranks_; ++r) {
        round.push_back({r, r ^ distance, bytes});
      }
      rounds_.push_back(std::move(round));
    }
  }

  void broadcast(Bytes n) {
    for (uint32_t have = 1; have < ranks_; have *= 2) {
      MessageRound round;
      for (uint32_t r = 0; r < have && r + have < ranks_; ++r) {
        round.push_back({r, r + have, n});
      }
      rounds_.push_back(std::move(round));
    }
  }

  // A broadcast backwards.
  void reduce(Bytes n) {
    for (uint32_t have = std::bit_ceil(ranks_) / 2; have > 0; have /= 2) {
      MessageRound round;
      for (uint32_t r = 0; r < have && r + have < ranks_; ++r) {
        round.push_back({r + have, r, n});
      }
      rounds_.push_back(std::move(round));
    }
  }

  void pairwise(Bytes n) {
    for (uint32_t k = 1; k < ranks_; ++k) {
      MessageRound round;
      for (uint32_t r = 0; r < ranks_; ++r) {
        const uint32_t to = (r + k) % ranks_;
        round.push_back({r, to, piece(n, ranks_, to)});
      }
      rounds_.push_back(std::move(round));
    }
  }

 private:
  uint32_t ranks_;
  std::vector<MessageRound> rounds_;
};

bool add_all_reduce(RoundMaker& maker, CollectiveAlgorithm algorithm, Bytes bytes, uint32_t ranks,
                    uint32_t local) {
  switch (algorithm) {
    case CollectiveAlgorithm::kRing:
      maker.ring(ranks, 1, bytes);
      maker.ring(ranks, 1, bytes);
      return true;
    case CollectiveAlgorithm::kRecursive:
      maker.exchange(bytes, true, true);
      return true;
    case CollectiveAlgorithm::kRabenseifner:
      maker.exchange(bytes, false, false);
      maker.exchange(bytes, true, false);
      return true;
    case CollectiveAlgorithm::kTree:
      maker.reduce(bytes);
      maker.broadcast(bytes);
      return true;
    case CollectiveAlgorithm::kHierarchical:
      if (local <= 1 || local >= ranks || ranks % local != 0) {
        return false;
      }
      maker.ring(local, 1, bytes);
      maker.ring(ranks / local, local, piece(bytes, local, 0));
      maker.ring(ranks / local, local, piece(bytes, local, 0));
      maker.ring(local, 1, bytes);
      return true;
    case CollectiveAlgorithm::kPairwise:
      break;
  }
  return false;
}

bool add_rounds(RoundMaker& maker, CollectiveKind kind, CollectiveAlgorithm algorithm, Bytes bytes,
                uint32_t ranks, uint32_t local) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return add_all_reduce(maker, algorithm, bytes, ranks, local);
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllGather:
      if (algorithm == CollectiveAlgorithm::kRing) {
        maker.ring(ranks, 1, bytes);
      } else if (algorithm == CollectiveAlgorithm::kRecursive) {
        maker.exchange(bytes, kind == CollectiveKind::kAllGather, false);
      } else {
        return false;
      }
      return true;
    case CollectiveKind::kAllToAll:
      maker.pairwise(bytes);
      return algorithm == CollectiveAlgorithm::kPairwise;
    case CollectiveKind::kBroadcast:
      maker.broadcast(bytes);
      return algorithm == CollectiveAlgorithm::kTree;
  }
  return false;
}

}  // namespace

StatusOr<std::vector<MessageRound>> collective_rounds(CollectiveKind kind,
                                                      CollectiveAlgorithm algorithm, Bytes bytes,
                                                      uint32_t ranks, uint32_t local_ranks) {
  const bool needs_power = algorithm == CollectiveAlgorithm::kRecursive ||
                           algorithm == CollectiveAlgorithm::kRabenseifner;
  RoundMaker maker(ranks);
  if (ranks == 0 || bytes < 0 || (needs_power && !std::has_single_bit(ranks)) ||
      !add_rounds(maker, kind, algorithm, bytes, ranks, local_ranks)) {
    return invalid_input(fmt::format("{} of {} bytes among {} ranks cannot be done by '{}'",
                                     collective_kind_name(kind), bytes, ranks,
                                     collective_algorithm_name(algorithm)));
  }
  return maker.take();
}

std::vector<TaskId> add_collective(ExecGraphBuilder& builder,
                                   const std::vector<MessageRound>& rounds,
                                   const std::vector<TaskId>& start, uint32_t cost_row,
                                   std::vector<uint32_t>* placed) {
  const auto add_task = [&](uint32_t rank) {
    ExecGraphBuilder::Task task;
    task.cost_row = cost_row;
    placed->push_back(rank);
    return builder.add_task(std::move(task));
  };
  std::vector<TaskId> now = start;
  for (const MessageRound& round : rounds) {
    std::vector<TaskId> next;
    for (uint32_t r = 0; r < now.size(); ++r) {
      next.push_back(add_task(r));
      builder.add_edge(builder.add_data(now[r], 0), next[r]);
    }
    std::vector<bool> receives(now.size(), false);
    for (const Message& message : round) {
      receives[message.to] = true;
    }
    for (const Message& message : round) {
      if (receives[message.from]) {
        builder.add_edge(builder.add_data(now[message.from], message.bytes), next[message.to]);
        continue;
      }
      // Nothing that arrives holds this sender back (a tree's root or leaf): it waits until the
      // receiver is in this round, too, and then until its message is there.
      const TaskId sent = add_task(message.from);
      builder.add_edge(builder.add_data(now[message.from], 0), sent);
      builder.add_edge(builder.add_data(now[message.to], 0), sent);
      const TaskId arrived = add_task(message.to);
      builder.add_edge(builder.add_data(sent, message.bytes), arrived);
      builder.add_edge(builder.add_data(arrived, 0), next[message.to]);
      builder.add_edge(builder.add_data(arrived, 0), next[message.from]);
    }
    now = std::move(next);
  }
  return now;
}

}  // namespace dfsim::inline partition
