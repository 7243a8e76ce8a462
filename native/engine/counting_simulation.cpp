#include "engine/live_counting_policy.hpp"

namespace duelist {

bool play(const CountingRule& rule, CountingState& state, const RoundBlock& block, i64 run) {
    const RoundInputs& r = block.rounds;
    i64 world = r.arm_runs > 1 ? run : 0, utility_run = r.utility_runs > 1 ? run : 0;
    std::vector<i64> arms;
    for (i64 k = 0; k < r.n_arms; k++) arms.push_back(k);
    double best = 0.0;
    for (i64 t = 0; t < block.length; t++) {
        i64 at = r.arm_rounds > 1 ? t : 0, place = world * r.arm_rounds + at;
        OfferedArms offered{arms.data(), r.counts[place], block.distinct};
        const double* utilities = r.utilities + (utility_run * r.arm_rounds + at) * r.n_arms;
        if (t == 0 || at > 0) best = *std::max_element(utilities, utilities + offered.n);
        rule.add_arms(state, offered.n);
        i64 round = state.round();
        CountingDecision duel = rule.decide(state, state.random, offered);
        if (duel.none()) return false;
        double probability = block.vote_model.vote_probability(utilities, duel.first, duel.second, round);
        double outcome = block.uniforms[run * block.length + t] < probability ? 1.0 : 0.0;
        rule.learn_vote(state, {duel.first, duel.second, outcome, 1.0, duel.layer});
        block.log.write(run, t, duel.first, duel.second, duel.first == duel.second ? 0 : duel.layer + 1, outcome,
                        utilities, best);
    }
    return true;
}

}  // namespace duelist
