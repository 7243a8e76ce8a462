// One round, written once: for a live policy, for a batch of contexts and for simulated runs.
#pragma once

#include "policies/selection_rule.hpp"

namespace duelist {

// Count the round and decide its duel; first == -1: no pair may be asked.
inline Decision decide_round(const SelectionRule& rule, PolicyState& state, Workspace& workspace,
                             const ArmTable& table) {
    state.rounds++;
    rule.grow(state);
    state.meet(table.features, table.n, workspace.solver);
    RoundScale seen = state.scale.see(table.features, table.n, table.dim);
    if (!seen.unlike) return rule.decide(state, workspace, table);
    rule.prepare(state, workspace);  // not in the copy alone: what is told next starts from what was solved
    PolicyState aside = state;
    aside.adopt(seen, workspace.solver);
    workspace.cache.start_over();
    Decision duel = rule.decide(aside, workspace, table);
    workspace.cache.start_over();  // what it remembers is of the copy
    state.random = aside.random;
    return duel;
}

// The outcome of a decided duel; whether it taught anything.
inline bool learn_outcome(PolicyState& state, Workspace& workspace, const Decision& decided, const PairOutcome& seen,
                          double weight) {
    if (!(decided.share > 0.0) || decided.layer < 0) return false;
    UpdateScope learned = state.learn(decided.layer, seen, decided.share, weight, workspace.solver);
    if (learned == UpdateScope::all_layers)
        for (i64 layer = 0; layer < state.n_layers(); layer++) workspace.cache.learned_in(layer);
    if (learned == UpdateScope::one_layer) workspace.cache.learned_in(decided.layer);
    return learned != UpdateScope::nothing;
}

}  // namespace duelist
