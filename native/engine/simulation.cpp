#include "engine/simulation.hpp"

namespace duelist {

bool play(const SelectionRule& rule, PolicyState& state, Workspace& workspace, const RoundBlock& block, i64 run) {
    const RoundInputs& r = block.rounds;
    i64 world = r.arm_runs > 1 ? run : 0, utility_run = r.utility_runs > 1 ? run : 0;
    AlignedDoubles difference(r.dim);
    double best = 0.0;
    workspace.cache.clear();
    for (i64 t = 0; t < block.length; t++) {
        i64 at = r.arm_rounds > 1 ? t : 0, place = world * r.arm_rounds + at;
        ArmTable table{r.arms + place * r.n_arms * r.dim, r.counts[place], r.dim, block.distinct};
        const double* utilities = r.utilities + (utility_run * r.arm_rounds + at) * r.n_arms;
        if (t == 0 || at > 0) best = *std::max_element(utilities, utilities + table.n);
        Decision duel = decide_round(rule, state, workspace, table);
        if (duel.first < 0 || duel.second < 0) return false;
        double probability = block.vote_model.vote_probability(utilities, duel.first, duel.second, state.rounds);
        double outcome = block.uniforms[run * block.length + t] < probability ? 1.0 : 0.0;
        subtract(table.arm(duel.first), table.arm(duel.second), r.dim, difference.data());
        bool learned = learn_outcome(state, workspace, duel, {difference.data(), outcome}, 1.0);
        block.log.write(run, t, duel.first, duel.second, learned ? duel.layer + 1 : 0, outcome, utilities, best);
    }
    return true;
}

}  // namespace duelist
