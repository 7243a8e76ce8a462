// Many contexts at once: a prompt with its answers each, thousands of prompts in one call.
//
// The policy's own rule decides every context from what it knows now; contexts are dealt to threads, which read one
// state that was brought up to date before. A rule that draws random numbers plays the contexts in order, in one thread.
#pragma once

#include <optional>
#include <vector>

#include "engine/ask_tell.hpp"
#include "engine/pending_pairs.hpp"

namespace duelist {

struct BatchDecision {
    std::vector<i64> contexts;
    std::vector<Decision> duels;      // one each
    std::vector<double> information;  // what each adds, to those before it where contexts were chosen
};

// The duels of all contexts in their order (k < 0), or of k contexts; nothing where a context has no pair to ask.
//
// The k contexts are those of most information, greedily, each for what it adds to those before it; equal ones: the first. The
// growth of log det Sigma that a duel brings shrinks once other duels are chosen; greedy choice reaches at least 1 - 1/e of
// the best total (Nemhauser, Wolsey and Fisher 1978), and since a worth only ever falls, few have to be looked at again. A rule
// that designs chooses contexts and pairs together (`design.hpp`), among up to MANY_ARMS candidates.
// Pairs with a difference that is `out` with somebody are left out while a context has others.
std::optional<BatchDecision> decide_batch(const SelectionRule& rule, PolicyState& state, const ContextArms& contexts,
                                          const DifferenceSet& out, i64 k, bool distinct, i64 threads);

}  // namespace duelist
