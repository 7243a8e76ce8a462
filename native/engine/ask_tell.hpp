// The two halves of a round, for live policies, batches of contexts and simulated runs alike.
#pragma once

#include "policies/selection_rule.hpp"

namespace duelist {

// Count the round and decide its duel; first == -1 if no pair is allowed.
inline Decision decide_round(const SelectionRule& rule, PolicyState& state, Workspace& workspace,
                             const ArmTable& table) {
    state.rounds++;
    rule.ensure_layers(state);
    state.observe_arms(table.features, table.n, workspace.solver);
    RoundScale seen = state.scale.inspect(table.features, table.n, table.dim);
    if (!seen.differs) return rule.decide(state, workspace, table);
    rule.prepare(state, workspace);  // before the copy is made, so that the state keeps the solution
    PolicyState aside = state;
    aside.use_scale_of_round(seen, workspace.solver);
    workspace.cache.reset();
    Decision duel = rule.decide(aside, workspace, table);
    workspace.cache.reset();  // it was filled by the copy
    state.random = aside.random;
    return duel;
}

// Learn the outcome of a decided duel; return whether the state has changed.
inline bool learn_outcome(PolicyState& state, Workspace& workspace, const Decision& decided, const PairOutcome& seen,
                          double weight) {
    if (!(decided.share > 0.0) || decided.layer < 0) return false;
    UpdateScope learned = state.learn(decided.layer, seen, decided.share, weight, workspace.solver);
    if (learned == UpdateScope::all_layers)
        for (i64 layer = 0; layer < state.n_layers(); layer++) workspace.cache.invalidate(layer);
    if (learned == UpdateScope::one_layer) workspace.cache.invalidate(decided.layer);
    return learned != UpdateScope::nothing;
}

}  // namespace duelist
