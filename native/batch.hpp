// Many contexts at once: a prompt with its answers each, thousands of prompts in one call.
//
// The policy's own rule decides every context from what it knows now; contexts are dealt to threads, which read one
// state that was brought up to date before. A rule that draws random numbers plays the contexts in order, in one thread.
#pragma once

#include <vector>

#include "round.hpp"

namespace duelist {

struct Batch {
    std::vector<Decision> duels;
    Numbers lifted;  // (contexts, dim): w R'^-1 z of every duel; zero where nothing would be learned
    bool complete = true;
};

Batch decide_all(const Rule& rule, State& state, const double* arms, i64 contexts, i64 candidates, bool distinct,
                 i64 threads);

// The k contexts of most information log(1 + |lifted|^2), greedily, each for what it adds to those before it; equal ones: the
// first. Overwrites `lifted`.
//
// The growth of log det Sigma that a duel brings shrinks once other duels are chosen; greedy choice reaches at least 1 - 1/e of
// the best total (Nemhauser, Wolsey and Fisher 1978), and since a worth only ever falls, few have to be looked at again.
void choose_contexts(Batch& batch, i64 dim, i64 k, i64* chosen, double* information);

}  // namespace duelist
