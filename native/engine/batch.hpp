// Batches of contexts: for example thousands of prompts with a few answers each.
//
// The policy's rule decides each context with the present state. The contexts are divided among threads, which share
// the state read-only. A randomized rule decides them in order in a single thread.
#pragma once

#include <optional>
#include <vector>

#include "engine/ask_tell.hpp"
#include "engine/pending_pairs.hpp"

namespace duelist {

struct BatchDecision {
    std::vector<i64> contexts;
    std::vector<Decision> duels;      // one per context
    std::vector<double> information;  // gained by each duel, given those selected before it
};

// The duels of all contexts in order (k < 0), or of the best k contexts. No value if some context has no allowed pair.
//
// The k contexts are selected greedily by the growth of log det Sigma that their duels add to those before; ties go to
// the first. Greedy selection reaches at least 1 - 1/e of the best total (Nemhauser, Wolsey and Fisher 1978), and
// because values only decrease, few have to be updated in each step. A rule that designs batches selects contexts and
// pairs together (`d_optimal_design.hpp`), up to MANY_ARMS candidates. Pending pairs are excluded while a context has
// others.
std::optional<BatchDecision> decide_batch(const SelectionRule& rule, PolicyState& state, const ContextArms& contexts,
                                          const std::vector<PendingDuel>& pending, i64 k, bool distinct, i64 threads);

}  // namespace duelist
