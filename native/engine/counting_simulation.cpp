#include "engine/counting_player.hpp"

namespace duelist {

bool play(const CountingRule& rule, Ledger& ledger, const Stretch& stretch, i64 run) {
    const Rounds& r = stretch.rounds;
    i64 world = r.arm_runs > 1 ? run : 0, truths = r.utility_runs > 1 ? run : 0;
    std::vector<i64> arms;
    for (i64 k = 0; k < r.n_arms; k++) arms.push_back(k);
    double best = 0.0;
    for (i64 t = 0; t < stretch.length; t++) {
        i64 at = r.arm_rounds > 1 ? t : 0, place = world * r.arm_rounds + at;
        Field field{arms.data(), r.counts[place], stretch.distinct};
        const double* utilities = r.utilities + (truths * r.arm_rounds + at) * r.n_arms;
        if (t == 0 || at > 0) best = *std::max_element(utilities, utilities + field.n);
        rule.meet(ledger, field.n);
        i64 round = ledger.round();
        Named duel = rule.decide(ledger, ledger.random, field);
        if (duel.none()) return false;
        double chance = stretch.truth.vote_chance(utilities, duel.first, duel.second, round);
        double outcome = stretch.luck[run * stretch.length + t] < chance ? 1.0 : 0.0;
        rule.hear(ledger, {duel.first, duel.second, outcome, 1.0, duel.layer});
        stretch.log.write(run, t, duel.first, duel.second, duel.first == duel.second ? 0 : duel.layer + 1, outcome, utilities, best);
    }
    return true;
}

}  // namespace duelist
