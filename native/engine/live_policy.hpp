// A live policy: a rule, its state, and the pending duels.
#pragma once

#include <map>
#include <optional>

#include "engine/ask_tell.hpp"
#include "engine/batch.hpp"
#include "engine/pending_pairs.hpp"
#include "model/pair_counts.hpp"
#include "numerics/parallel.hpp"

namespace duelist {

// What `tell` needs to know about a duel that was asked.
struct AskedDuel {
    Decision duel;
    std::vector<double> arms;  // features of the two (2, dim)
};

class LivePolicy {
public:
    std::shared_ptr<const SelectionRule> rule;
    std::optional<PolicyState> state;  // none before the first arms
    std::map<i64, AskedDuel> pending;
    i64 next_id = 0;
    PairCounts pair_counts;
    InUse in_use;

    explicit LivePolicy(std::shared_ptr<const SelectionRule> rule) : rule(std::move(rule)) {}

    void begin(const PolicyState& first) {
        state = first;
        pending.clear();  // they belong to the previous state
        pair_counts = PairCounts(state->dim, max_counted_pairs());
        if (state->has_learned()) pair_counts.discard();  // these votes were not counted here
        workspace_.cache.reset();
        rule->ensure_layers(*state);
    }

    // The id of a new pending duel; -1 if no pair is allowed, and then nothing has changed.
    i64 ask(const ArmTable& table) {
        if (table.distinct && table.n > 1 && table.n_allowed_pairs() == 0) return -1;
        Sfc64 before = state->random;
        Decision duel =
            has_informative_pending() ? decide_with_pending(table) : decide_round(*rule, *state, workspace_, table);
        if (duel.first < 0 || duel.second < 0) {
            state->rounds--;
            state->random = before;
            return -1;
        }
        return add_pending_duel(duel, table);
    }

    i64 add_pending_duel(const Decision& duel, const ArmTable& table) {
        std::vector<double> arms(table.arm(duel.first), table.arm(duel.first) + table.dim);
        arms.insert(arms.end(), table.arm(duel.second), table.arm(duel.second) + table.dim);
        pending.emplace(next_id, AskedDuel{duel, std::move(arms)});
        return next_id++;
    }

    i64 max_counted_pairs() const { return state->online ? PairCounts::MAX_PAIRS : PairCounts::MAX_EXACT_PAIRS; }

    // Learn the outcome of a duel, which must be pending.
    void tell(i64 id, double outcome, double weight, bool tie = false) {
        auto found = pending.find(id);
        const AskedDuel& asked = found->second;
        const double* arms = asked.arms.data();
        learn_and_count(asked.duel, {difference_of(arms), outcome, tie}, weight, arms);
        pending.erase(found);
    }

    // Decide what it would ask next, with the given duels counted as observed. Changes nothing.
    Decision consider(const ArmTable& table, const std::vector<PendingDuel>& others, const std::optional<Sfc64>& random,
                      i64 rounds) {
        PolicyState copy = *state;
        if (random) copy.random = *random;
        if (rounds >= 0) copy.rounds = rounds;
        return decide_given_pending(copy, table, others);
    }

    // Learn the outcome of any duel; `arms` is null if they are unknown. The state is a function of the outcomes in their
    // order.
    void learn(const double* difference, double outcome, double weight, i64 layer, double share, const double* arms,
               bool tie = false) {
        next_id++;
        state->rounds++;
        // The duel may have been decided with more duels pending, and so with more layers.
        rule->ensure_layers(*state, layer + 1);
        if (!learn_and_count({0, 0, layer, share}, {difference, outcome, tie}, weight, arms)) return;
        // Solve now rather than on demand, so that reading does not change the last bits. A new feature scale affects
        // all layers.
        for (i64 each = 0; each < state->n_layers(); each++) state->theta(each, workspace_.solver);
    }

    // The state that decides a batch, with all contexts in the same round.
    PolicyState state_for_batch(const ContextArms& contexts) {
        std::vector<double> arms = contexts.some_arms(FeatureScale::SAMPLE_SIZE);
        i64 n = static_cast<i64>(arms.size()) / state->dim;
        state->observe_arms(arms.data(), n, workspace_.solver);
        PolicyState copy = *state;
        copy.rounds++;
        rule->ensure_layers(copy);
        copy.use_scale_of_round(copy.scale.inspect(arms.data(), n, copy.dim), copy_workspace_.solver);
        if (has_informative_pending()) add_expected(copy, informative_pending());
        return copy;
    }

    // The pending duels that a batch must not repeat.
    std::vector<PendingDuel> pending_to_exclude() const { return to_exclude(informative_pending()); }

    // The number of layers after any number of rounds.
    i64 max_layers() const {
        constexpr i64 FOREVER = i64{1} << 60;
        return rule->layers_in_round(FOREVER);
    }

    Workspace& workspace() { return workspace_; }

private:
    Workspace workspace_, copy_workspace_;

    std::vector<double> difference_;

    const double* difference_of(const double* arms) {
        difference_.resize(static_cast<std::size_t>(state->dim));
        subtract(arms, arms + state->dim, state->dim, difference_.data());
        return difference_.data();
    }

    // Learn an outcome and count it; return whether the state has changed.
    bool learn_and_count(const Decision& duel, const PairOutcome& seen, double weight, const double* arms) {
        if (!learn_outcome(*state, workspace_, duel, seen, weight)) return false;
        double mass = duel.share * weight;
        if (!(mass > 0.0) || !pair_counts.complete()) return true;
        if (!arms) {
            pair_counts.discard();
            return true;
        }
        i64 first = pair_counts.id_of(arms), second = pair_counts.id_of(arms + state->dim);
        pair_counts.add({first, second, mass, mass * seen.outcome});
        return true;
    }

    std::vector<PendingDuel> to_exclude(const std::vector<PendingDuel>& duels) const {
        return rule->reacts_to_pending() ? std::vector<PendingDuel>() : duels;
    }

    static bool is_informative(const AskedDuel& asked) { return asked.duel.share > 0.0 && asked.duel.layer >= 0; }

    bool has_informative_pending() const {
        return std::any_of(pending.begin(), pending.end(),
                           [](const auto& entry) { return is_informative(entry.second); });
    }

    // Pending duels whose outcomes will be learned, in the order of asking.
    std::vector<PendingDuel> informative_pending() const {
        std::vector<PendingDuel> duels;
        for (const auto& [id, asked] : pending)
            if (is_informative(asked)) duels.push_back({asked.arms.data(), asked.duel.layer, asked.duel.share});
        return duels;
    }

    // Decide the next round with pending duels counted as observed, without learning from them.
    Decision decide_with_pending(const ArmTable& table) {
        state->observe_arms(table.features, table.n, workspace_.solver);
        rule->prepare(*state, workspace_);  // here rather than in each copy
        PolicyState copy = *state;
        Decision duel = decide_given_pending(copy, table, informative_pending());
        state->rounds++;
        rule->ensure_layers(*state);
        state->random = copy.random;
        return duel;
    }

    // Decide the next round with a copy. The scale of these arms comes first, then the pending duels at this scale.
    Decision decide_given_pending(PolicyState& copy, const ArmTable& table, const std::vector<PendingDuel>& duels) {
        i64 deepest = 0;
        for (const PendingDuel& duel : duels) deepest = std::max(deepest, duel.layer);
        copy.rounds++;
        rule->ensure_layers(copy, deepest + 1);
        copy.observe_arms(table.features, table.n, copy_workspace_.solver);
        copy.use_scale_of_round(copy.scale.inspect(table.features, table.n, table.dim), copy_workspace_.solver);
        add_expected(copy, duels);
        return decide_excluding(to_exclude(duels), *rule, copy, copy_workspace_, table);
    }

    void add_expected(PolicyState& copy, const std::vector<PendingDuel>& duels) {
        copy_workspace_.cache.reset();
        // The solve recomputes the curvature, so it must precede the pending duels.
        if (rule->local() && !duels.empty()) copy.local_curvature(0, copy_workspace_.solver);
        for (const PendingDuel& duel : duels)
            if (duel.share > 0.0 && duel.layer >= 0)
                copy.add_expected(duel.layer, difference_of(duel.arms), duel.share, copy_workspace_.solver);
    }
};

}  // namespace duelist
