// Simulated runs with delayed votes: a policy decides `delay` further rounds before it learns the outcome of a round.
#pragma once

#include <deque>

#include "engine/live_counting_policy.hpp"
#include "engine/live_policy.hpp"

namespace duelist {

// The positions shown, and the layer that will learn the outcome, from 1 (0: none).
struct ShownDuel {
    i64 first, second, layer;
};

// A run of a policy with features.
class DelayedPolicyRun {
public:
    DelayedPolicyRun(std::shared_ptr<const SelectionRule> rule, const PolicyState& first) : policy_(std::move(rule)) {
        policy_.begin(first);
    }

    // The id of the next duel, or -1 if no pair is allowed.
    i64 ask(const RoundInputs& r, i64 place, bool distinct, ShownDuel& shown) {
        i64 id = policy_.ask({r.arms + place * r.n_arms * r.dim, r.counts[place], r.dim, distinct});
        if (id < 0) return -1;
        const AskedDuel& asked = policy_.pending.at(id);
        const Decision& duel = asked.duel;
        const double *first = asked.arms.data(), *second = first + r.dim;
        bool differ = !std::equal(first, second, second);
        shown = {duel.first, duel.second, differ && duel.share > 0.0 && duel.layer >= 0 ? duel.layer + 1 : 0};
        return id;
    }

    void tell(i64 id, double outcome) { policy_.tell(id, outcome, 1.0); }

private:
    LivePolicy policy_;
};

// A run of a policy that counts wins, where the id of an arm is its position.
class DelayedCountingRun {
public:
    DelayedCountingRun(std::shared_ptr<const CountingRule> rule, const CountingState& first)
        : policy_(std::move(rule)) {
        policy_.state = first;
    }

    i64 ask(const RoundInputs& r, i64 place, bool distinct, ShownDuel& shown) {
        while (static_cast<i64>(ids_.size()) < r.counts[place]) ids_.push_back(static_cast<i64>(ids_.size()));
        std::vector<i64> arms = policy_.indices_of({ids_.data(), static_cast<std::size_t>(r.counts[place])});
        PendingCountingDuel asked =
            policy_.decide(arms, policy_.state.random, distinct, nullptr, policy_.pending_duels());
        if (asked.duel.none()) return -1;
        shown = {asked.first, asked.second, asked.first == asked.second ? 0 : asked.duel.layer + 1};
        policy_.pending.emplace(policy_.next_id, asked);
        return policy_.next_id++;
    }

    void tell(i64 id, double outcome) {
        auto found = policy_.pending.find(id);
        CountingDecision duel = found->second.duel;
        policy_.pending.erase(found);
        policy_.learn({duel.first, duel.second, outcome, 1.0, duel.layer});
    }

private:
    LiveCountingPolicy policy_;
    std::vector<i64> ids_;
};

// A run with its pending votes and the number of rounds so far.
template <class Run>
struct DelayedRun {
    Run run;
    std::deque<std::pair<i64, double>> pending;
    i64 rounds = 0;
};

// Play one run through a block of rounds: decide, draw the outcome, learn that of `delay` rounds ago. Return false if a
// round has no allowed pair.
template <class Run>
bool play_delayed(DelayedRun<Run>& delayed, const RoundBlock& block, i64 number) {
    const RoundInputs& r = block.rounds;
    i64 world = r.arm_runs > 1 ? number : 0, utility_run = r.utility_runs > 1 ? number : 0;
    for (i64 t = 0; t < block.length; t++) {
        i64 at = r.arm_rounds > 1 ? t : 0, place = world * r.arm_rounds + at;
        const double* utilities = r.utilities + (utility_run * r.arm_rounds + at) * r.n_arms;
        ShownDuel shown{};
        i64 id = delayed.run.ask(r, place, block.distinct, shown);
        if (id < 0) return false;
        double probability = block.vote_model.vote_probability(utilities, shown.first, shown.second, ++delayed.rounds);
        double outcome = block.uniforms[number * block.length + t] < probability ? 1.0 : 0.0;
        double best = *std::max_element(utilities, utilities + r.counts[place]);
        block.log.write(number, t, shown.first, shown.second, shown.layer, outcome, utilities, best);
        delayed.pending.emplace_back(id, outcome);
        if (static_cast<i64>(delayed.pending.size()) <= block.vote_model.delay) continue;
        delayed.run.tell(delayed.pending.front().first, delayed.pending.front().second);
        delayed.pending.pop_front();
    }
    return true;
}

}  // namespace duelist
