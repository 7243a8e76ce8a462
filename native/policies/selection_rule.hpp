// The selection rule of a policy: the interface between an algorithm and the engine.
//
// A rule reads a state and the arms of a round and decides a duel. It is stateless, so one rule serves a
// live policy, a batch of contexts and hundreds of simulated runs at the same time. Each rule has a header in
// `policies/`, named as its Python module.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>

#include "model/policy_state.hpp"
#include "policies/d_optimal_design.hpp"
#include "search/arm_effects_view.hpp"
#include "search/pair_search.hpp"

namespace duelist {

// The hyperparameters of a rule by name. A rule must read each one, and unknown names are errors.
class Hyperparameters {
public:
    explicit Hyperparameters(std::map<std::string, double> numbers) : numbers_(std::move(numbers)) {}
    double number(const std::string& name) const {
        auto found = numbers_.find(name);
        if (found == numbers_.end()) throw std::invalid_argument("The rule needs the hyperparameter '" + name + "'.");
        read_.insert(name);
        return found->second;
    }
    i64 whole(const std::string& name) const {
        double value = number(name);
        if (!(std::fabs(value) <= static_cast<double>(MAX_ROUNDS)) || value != std::floor(value))
            throw std::invalid_argument("The hyperparameter '" + name + "' is " + std::to_string(value) +
                                        ", but must be an integer up to 2^53.");
        return static_cast<i64>(value);
    }
    bool flag(const std::string& name) const { return number(name) != 0.0; }
    void check_all_read() const {
        for (const auto& [name, value] : numbers_)
            if (!read_.count(name)) throw std::invalid_argument("The rule has no hyperparameter '" + name + "'.");
    }

private:
    std::map<std::string, double> numbers_;
    mutable std::set<std::string> read_;
};

// Where an outcome is learned that the policy did not ask for: a layer (-1: none) and the weight w^2.
struct LayerAssignment {
    i64 layer;
    double share;
};

class SelectionRule {
public:
    virtual ~SelectionRule() = default;

    // Decide round `state.rounds`. May update estimates and draw from the state's generator.
    virtual Decision decide(PolicyState& state, Workspace& workspace, const ArmTable& table) const = 0;

    // Whether the rule can decide about arms with effects: it needs their utilities and widths, and no more.
    virtual bool supports_arm_effects() const { return false; }
    // Decide round t for arms with effects; by default `decide_by_indicators`.
    virtual Decision decide_with_effects(const ArmEffectsState& known, Sfc64& random, i64 t,
                                         const ArmTable& table) const;

    virtual LayerAssignment assign_layer(PolicyState&, const double*, Workspace&) const { return {0, 1.0}; }

    // The number of layers that round t can reach; 1 for policies without layers.
    virtual i64 layers_in_round(i64 t) const { return t >= 0 ? 1 : 0; }

    // One estimator more.
    virtual void add_layer(PolicyState& state) const { state.add_layer(state.base_ridge, state.base_prior, 0.0); }

    // Add layers until there are at least `least`, and all that round `state.rounds` can reach.
    void ensure_layers(PolicyState& state, i64 least = 1) const {
        i64 layers = std::max(least, layers_in_round(state.rounds));
        while (state.n_layers() < layers) add_layer(state);
    }

    // Whether widths use the curvature at the estimate instead of the precision.
    virtual bool local() const { return false; }

    // Whether counting a pending duel as observed makes its pair less attractive. If not, pending pairs are excluded
    // while there are others.
    virtual bool reacts_to_pending() const { return true; }

    // Whether decisions draw random numbers, so that their order matters.
    virtual bool draws() const { return false; }

    // Whether the rule selects the contexts of a batch together with their pairs; and the k duels it selects.
    virtual bool designs() const { return false; }
    virtual std::vector<DesignedPair> design(PolicyState&, Workspace&, const ContextArms&, i64, i64) const {
        throw std::invalid_argument("This rule does not design batches.");
    }

    // Update everything that a decision reads, so that many decisions can share the state.
    virtual void prepare(PolicyState& state, Workspace& workspace) const {
        for (i64 layer = 0; layer < state.n_layers(); layer++)
            local() ? state.local_curvature(layer, workspace.solver) : state.theta(layer, workspace.solver);
    }
};

std::unique_ptr<SelectionRule> make_selection_rule(const std::string& policy, const Hyperparameters& hyperparameters);

// The names of all policies with a selection rule.
std::vector<std::string> selection_rule_names();

// Utilities and whitened columns of all arms, for policies with one estimator.
inline ArmView whiten_all(PolicyState& state, Workspace& workspace, const ArmTable& table, bool local = false) {
    workspace.fit(table.n, table.dim);
    i64 stride = padded(table.n);
    const double* theta = state.theta(0, workspace.solver);
    const double* factor = local ? state.local_curvature(0, workspace.solver) : state.layer(0).factor.data();
    kernels->whiten(table.features, nullptr, table.n, table.dim, theta, factor, workspace.u.data(), workspace.v.data(),
                    stride);
    return {workspace.u.data(), workspace.v.data(), table.n, stride, table.dim};
}

// Whitened columns of the listed arms by the precision of a layer; `add_utilities` adds the utilities.
inline ArmView whiten_subset(const PolicyState& state, Workspace& workspace, const ArmTable& table, i64 layer,
                             const i64* chosen, i64 n) {
    i64 stride = padded(n);
    kernels->whiten(table.features, n == table.n ? nullptr : chosen, n, table.dim, nullptr,
                    state.layer(layer).factor.data(), nullptr, workspace.v.data(), stride);
    return {nullptr, workspace.v.data(), n, stride, table.dim};
}

inline void add_utilities_of(PolicyState& state, Workspace& workspace, const ArmTable& table, i64 layer,
                             const i64* chosen, ArmView& view) {
    kernels->whiten(table.features, view.n == table.n ? nullptr : chosen, view.n, table.dim,
                    state.theta(layer, workspace.solver), nullptr, workspace.u.data(), nullptr, 0);
    view.u = workspace.u.data();
}

// A uniform draw from the allowed ordered pairs of different arms; a single arm is paired with itself.
inline FoundPair uniform_pair(Sfc64& random, const ArmTable& table) {
    constexpr int TRIES = 64;
    if (table.n == 1) return {0, 0, 0.0};
    PairConstraints constraints = table.constraints();
    for (int tried = 0; tried < TRIES; tried++) {
        i64 i = random.below(table.n), j = random.below(table.n - 1);
        j += j >= i;
        if (constraints.allows(i, j)) return {i, j, 0.0};
    }
    i64 position = random.below(std::max<i64>(table.n_allowed_pairs(), 1));
    for (i64 i = 0; i + 1 < table.n; i++)
        for (i64 j = i + 1; j < table.n; j++)
            if (constraints.allows(i, j) && position-- == 0) return {i, j, 0.0};
    return NO_PAIR;
}

// Whether an arm has an allowed partner among these.
inline bool may_duel(const ArmTable& table, i64 arm, const ArmSubset& partners) {
    PairConstraints constraints = table.constraints();
    for (i64 b = 0; b < partners.n; b++)
        if (constraints.allows(arm, partners.arm(b))) return true;
    return false;
}

// Index of the first largest score among arms with an allowed partner; -1 if there is none.
inline i64 best_scored(const double* scores, const ArmSubset& firsts, const ArmTable& table,
                       const ArmSubset& partners) {
    i64 best = kernels->argmax(scores, firsts.n);
    if (may_duel(table, firsts.arm(best), partners)) return best;
    best = -1;
    for (i64 a = 0; a < firsts.n; a++)
        if ((best < 0 || scores[a] > scores[best]) && may_duel(table, firsts.arm(a), partners)) best = a;
    return best;
}

}  // namespace duelist
