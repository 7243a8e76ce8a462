// A policy's rule: the one small interface between an algorithm and the engine.
//
// A rule reads a state and a table of arms and decides a duel. It owns no data, so one rule serves a live policy, a batch
// of contexts and a hundred simulated runs at once. Each lies in a header of its own in `policies/`, named as its Python file.
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

// The numbers a rule is made of, by name. Each must be read, and nothing else be given.
class Hyperparameters {
public:
    explicit Hyperparameters(std::map<std::string, double> numbers) : numbers_(std::move(numbers)) {}
    double number(const std::string& name) const {
        auto found = numbers_.find(name);
        if (found == numbers_.end()) throw std::invalid_argument("the rule needs a setting '" + name + "'");
        read_.insert(name);
        return found->second;
    }
    i64 whole(const std::string& name) const {
        double value = number(name);
        if (!(std::fabs(value) <= static_cast<double>(MAX_ROUNDS)) || value != std::floor(value))
            throw std::invalid_argument("the setting '" + name + "' is " + std::to_string(value) +
                                        ", not a whole number up to 2^53");
        return static_cast<i64>(value);
    }
    bool flag(const std::string& name) const { return number(name) != 0.0; }
    void check_all_read() const {
        for (const auto& [name, value] : numbers_)
            if (!read_.count(name)) throw std::invalid_argument("the rule has no setting '" + name + "'");
    }

private:
    std::map<std::string, double> numbers_;
    mutable std::set<std::string> read_;
};

// Where an outcome that the policy did not ask for is learned: layer (-1: nowhere) and weight w^2.
struct LayerAssignment {
    i64 layer;
    double share;
};

class SelectionRule {
public:
    virtual ~SelectionRule() = default;

    // The decision of round `state.rounds`. It may bring estimates up to date, and draw from the state's generator.
    virtual Decision decide(PolicyState& state, Workspace& workspace, const ArmTable& table) const = 0;

    // The same for arms with a term of their own, in round t; only for rules that take them.
    virtual bool supports_arm_effects() const { return false; }
    virtual Decision decide_with_effects(const ArmEffectsState&, Sfc64&, i64, const ArmTable&) const {
        throw std::invalid_argument("this rule is for arms with features alone");
    }

    virtual LayerAssignment place(PolicyState&, const double*, Workspace&) const { return {0, 1.0}; }

    // How many estimators round t can reach; a policy without layers has one.
    virtual i64 layers_in(i64 t) const { return t >= 0 ? 1 : 0; }

    // One estimator more.
    virtual void deepen(PolicyState& state) const { state.add_layer(state.base_ridge, state.base_prior, 0.0); }

    // At least so many estimators, and those that round `state.rounds` can reach.
    void grow(PolicyState& state, i64 least = 1) const {
        i64 layers = std::max(least, layers_in(state.rounds));
        while (state.n_layers() < layers) deepen(state);
    }

    // Whether widths are those of the curvature at the estimate, not of the precision.
    virtual bool local() const { return false; }

    // Whether what it goes by falls for a pair that is out: where not, such pairs are left out while there are others.
    virtual bool reacts_to_pending() const { return true; }

    // Whether decisions draw random numbers, so that the order in which they are made matters.
    virtual bool draws() const { return false; }

    // Whether it chooses the contexts of a batch together with their pairs, and the k duels that it chooses.
    virtual bool designs() const { return false; }
    virtual std::vector<DesignedPair> design(PolicyState&, Workspace&, const ContextArms&, i64, i64) const {
        throw std::invalid_argument("this rule decides contexts one by one");
    }

    // Bring everything up to date that a decision would, so that many decisions can then read the state at once.
    virtual void prepare(PolicyState& state, Workspace& workspace) const {
        for (i64 layer = 0; layer < state.n_layers(); layer++)
            local() ? state.local_curvature(layer, workspace.solver) : state.theta(layer, workspace.solver);
    }
};

std::unique_ptr<SelectionRule> make_selection_rule(const std::string& policy, const Hyperparameters& hyperparameters);

// The policies that have a rule here.
std::vector<std::string> selection_rule_names();

// Utilities and whitened columns of all arms, for a policy with one estimator.
inline ArmView whiten_all(PolicyState& state, Workspace& workspace, const ArmTable& table, bool local = false) {
    workspace.fit(table.n, table.dim);
    i64 stride = padded(table.n);
    const double* theta = state.theta(0, workspace.solver);
    const double* factor = local ? state.local_curvature(0, workspace.solver) : state.layer(0).factor.data();
    kernels->whiten(table.features, nullptr, table.n, table.dim, theta, factor, workspace.u.data(), workspace.v.data(),
                    stride);
    return {workspace.u.data(), workspace.v.data(), table.n, stride, table.dim};
}

// Whitened columns of the listed arms, by one layer's precision; utilities are filled in by `add_utilities_of`.
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

// An ordered pair of different arms, each allowed one with the same chance; a single arm meets itself.
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

// Arms by their positions on the table: those that are listed, or all of them.
struct ArmSubset {
    const i64* positions;
    i64 n;
    i64 arm(i64 k) const { return positions ? positions[k] : k; }
};

// Whether an arm may meet one of the partners.
inline bool may_duel(const ArmTable& table, i64 arm, const ArmSubset& partners) {
    PairConstraints constraints = table.constraints();
    for (i64 b = 0; b < partners.n; b++)
        if (constraints.allows(arm, partners.arm(b))) return true;
    return false;
}

// Position of the first largest score among arms that may meet one of the partners; -1: none may.
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
