// One round, written once: for a live policy, for a batch of contexts and for simulated runs.
#pragma once

#include "policies/selection_rule.hpp"

namespace duelist {

// Count the round and decide its duel; first == -1: no pair may be asked.
inline Decision next_duel(const Rule& rule, State& state, Scratch& scratch, const Table& table) {
    state.rounds++;
    rule.grow(state);
    state.meet(table.arms, table.n, scratch.solver);
    Seen seen = state.sizes.see(table.arms, table.n, table.dim);
    if (!seen.unlike) return rule.decide(state, scratch, table);
    rule.prepare(state, scratch);  // not in the copy alone: what is told next starts from what was solved
    State aside = state;
    aside.adopt(seen, scratch.solver);
    scratch.memo.start_over();
    Decision duel = rule.decide(aside, scratch, table);
    scratch.memo.start_over();  // what it remembers is of the copy
    state.random = aside.random;
    return duel;
}

// The outcome of a decided duel; whether it taught anything.
inline bool take_in(State& state, Scratch& scratch, const Decision& decided, const Observation& seen, double weight) {
    if (!(decided.share > 0.0) || decided.layer < 0) return false;
    Learned learned = state.learn(decided.layer, seen, decided.share, weight, scratch.solver);
    if (learned == Learned::in_all_layers)
        for (i64 layer = 0; layer < state.n_layers(); layer++) scratch.memo.learned_in(layer);
    if (learned == Learned::in_its_layer) scratch.memo.learned_in(decided.layer);
    return learned != Learned::nothing;
}

}  // namespace duelist
