#include "engine/simulation.hpp"

namespace duelist {

bool play(const Rule& rule, State& state, Scratch& scratch, const Stretch& stretch, i64 run) {
    const Rounds& r = stretch.rounds;
    i64 world = r.arm_runs > 1 ? run : 0, truths = r.utility_runs > 1 ? run : 0;
    Numbers difference(r.dim);
    double best = 0.0;
    scratch.memo.forget();
    for (i64 t = 0; t < stretch.length; t++) {
        i64 at = r.arm_rounds > 1 ? t : 0, place = world * r.arm_rounds + at;
        Table table{r.arms + place * r.n_arms * r.dim, r.counts[place], r.dim, stretch.distinct};
        const double* utilities = r.utilities + (truths * r.arm_rounds + at) * r.n_arms;
        if (t == 0 || at > 0) best = *std::max_element(utilities, utilities + table.n);
        Decision duel = next_duel(rule, state, scratch, table);
        if (duel.first < 0 || duel.second < 0) return false;
        double chance = stretch.truth.vote_chance(utilities, duel.first, duel.second, state.rounds);
        double outcome = stretch.luck[run * stretch.length + t] < chance ? 1.0 : 0.0;
        subtract(table.arm(duel.first), table.arm(duel.second), r.dim, difference.data());
        bool learned = take_in(state, scratch, duel, {difference.data(), outcome}, 1.0);
        stretch.log.write(run, t, duel.first, duel.second, learned ? duel.layer + 1 : 0, outcome, utilities, best);
    }
    return true;
}

}  // namespace duelist
